"""The port: whether it can be listened on, or the app listens there already."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence

from bot.doctor.examining import Case
from bot.doctor.report import Finding, fault, well

ABOUT = "Port"


async def check(case: Case) -> Sequence[Finding]:
    """Listen for a moment."""
    host, port = case.settings.bind_host, case.settings.port
    try:
        server = await asyncio.start_server(_nothing, host, port)
    except OSError as error:
        return [await _explained(error, host, port)]
    server.close()
    await server.wait_closed()
    return [well(ABOUT, f"{host}:{port} is free.")]


async def _nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _explained(error: OSError, host: str, port: int) -> Finding:
    if error.errno == errno.EADDRINUSE:
        if await _is_the_app(host, port):
            return well(ABOUT, f"The app listens on {host}:{port} already.")
        return fault(ABOUT, f"Another program listens on {host}:{port}.", fix="Stop it, or set another PORT.")
    if error.errno in {errno.EACCES, errno.EPERM}:
        return fault(ABOUT, f"This user may not listen on port {port}.", fix="Set PORT to 1024 or higher.")
    return fault(ABOUT, f"{host} is no address of this machine.", fix="Correct HOST, or unset it.")


async def _is_the_app(host: str, port: int) -> bool:
    """Ask for /healthz; whatever else listens there answers otherwise, or not at all."""
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection("127.0.0.1" if host == "0.0.0.0" else host, port)  # noqa: S104 - every address
            writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
            answer = await reader.read(1000)
            writer.close()
    except (OSError, TimeoutError):
        return False
    return answer.endswith(b'{"ok": true}')
