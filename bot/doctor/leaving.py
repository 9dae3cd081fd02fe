"""Ends without waiting for name servers: a look-up that is given up goes on in a thread, for half a minute or more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Forgotten(ThreadPoolExecutor):
    """Gives each call a thread that does not keep the process alive. It need not be shut down."""

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        Thread(target=_settle, args=(future, lambda: function(*args, **kwargs)), daemon=True).start()
        return future


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what the work returns, as `asyncio.run` does, and leave behind what it did not wait for."""
    loop = asyncio.new_event_loop()
    try:
        loop.set_default_executor(_Forgotten())
        return loop.run_until_complete(work)
    finally:
        loop.close()


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except OSError as error:
        future.set_exception(error)
