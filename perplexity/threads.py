"""Runs coroutines together, and blocking calls in threads that do not stop the event loop or keep the process alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from perplexity.errors import ConnectionFailed

Params = ParamSpec("Params")
Computed = TypeVar("Computed")

MAX_WORKERS = 2
"""The most threads that compute at once.

Each of them makes the event loop wait up to 5 ms for its turn (`sys.getswitchinterval`).
"""

_pool = ThreadPoolExecutor(max_workers=MAX_WORKERS, thread_name_prefix="computing")


async def run_in_thread(call: Callable[Params, Computed], *args: Params.args, **kwargs: Params.kwargs) -> Computed:
    """Run a function in a thread, and return its result; the function must do no I/O. Raises the function's errors.

    If the caller is cancelled, a running call continues to its end.
    """
    work = partial(copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool, work)


SHORT_TEXT = 1_000
"""The most characters of a text that is parsed or rendered in less time than the switch to a thread takes."""


async def run_in_thread_if_long(
    length: int, call: Callable[Params, Computed], *args: Params.args, **kwargs: Params.kwargs
) -> Computed:
    """Call a function that reads a text of `length` characters, in a thread if the text is long; return its result."""
    return call(*args, **kwargs) if length <= SHORT_TEXT else await run_in_thread(call, *args, **kwargs)


Result = TypeVar("Result")


async def run_together(*work: Coroutine[Any, Any, Result]) -> list[Result]:
    """Return the results in order. If one raises, or the caller is cancelled, cancel the others and await their end."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class DaemonThreads:
    """At most `limit` threads, separate from the event loop's default pool.

    They are daemons: unlike the threads of `concurrent.futures`, they do not keep the interpreter from ending. A call
    keeps its thread until it returns, even if its caller has given up.
    """

    def __init__(self, *, limit: int) -> None:
        self._places = asyncio.Semaphore(limit)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Wait for a free thread, then for the result of `call`. Raises the errors of `call`.

        Raises ConnectionFailed if the system cannot start another thread; this call then no longer counts towards the
        limit.
        """
        await self._places.acquire()
        loop = asyncio.get_running_loop()

        def release(_: Future[Result]) -> None:
            with suppress(RuntimeError):  # The loop has closed: nobody waits any longer.
                loop.call_soon_threadsafe(self._places.release)

        try:
            running = start_daemon(call)
        except (RuntimeError, MemoryError):  # "can't start new thread": there are too many, or no memory for a stack.
            self._places.release()
            failed = ConnectionFailed("no thread could be started")
            failed.sent = False
            raise failed from None
        running.add_done_callback(release)
        return await asyncio.wrap_future(running)


class DaemonExecutor(ThreadPoolExecutor):
    """Gives each call a daemon thread of its own; as a loop's default executor, it does not delay the process's end."""

    def submit(
        self, function: Callable[Params, Result], /, *args: Params.args, **kwargs: Params.kwargs
    ) -> Future[Result]:
        """Make a call in a thread of its own."""
        return start_daemon(partial(function, *args, **kwargs))


def start_daemon(call: Callable[[], Result]) -> Future[Result]:
    """Make a call in a daemon thread of its own. Raises RuntimeError or MemoryError if none can be started."""
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        # `BaseException` is caught and passed on, too; otherwise the caller would wait for ever.
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            future.set_exception(error)
        else:
            future.set_result(result)

    Thread(target=work, name="blocking-call", daemon=True).start()
    return future
