"""Imports the app and what it imports later, when it runs: `forks.py` forks a process that has done so."""

import gc

import bot.app
import bot.doctor
import bot.storage.database
import bot.storage.postmaster
import bot.worker.queue  # noqa: F401

# The children look through none of it for garbage, which would copy its pages.
gc.freeze()
