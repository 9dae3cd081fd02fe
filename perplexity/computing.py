"""Runs work of more than a few milliseconds in threads, so that the event loop does not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")

MOST_AT_ONCE = 2
"""Each thread that computes makes the loop wait up to five milliseconds for its turn (`sys.getswitchinterval`)."""

_pool = ThreadPoolExecutor(max_workers=MOST_AT_ONCE, thread_name_prefix="computing")


async def computed(call: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Return what a function returns that does no input or output. Raises what it raises.

    If the caller is cancelled, a call that has begun runs to its end.
    """
    work = partial(copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool, work)
