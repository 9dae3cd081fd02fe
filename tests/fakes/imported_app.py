"""Imports both packages and what they import later, when they run: `forks.py` forks a process that has done so."""
# ruff: noqa: F401

import gc

import ddgs
import rich.live
import rich.markdown
import uvicorn

import bot.app
import bot.doctor.diagnosis
import bot.storage.database
import bot.storage.postmaster
import bot.worker.queue
import perplexity.cli.main
import perplexity.mcp_server.server

# The children look through none of it for garbage, which would copy its pages.
gc.freeze()
