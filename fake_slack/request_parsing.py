"""Parses the bodies of requests to the stand-in, limits their size, and checks their fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from aiohttp import web
from aiohttp.http import HttpProcessingError

from fake_slack.limits import MAX_TEXT, walk

Block = dict[str, Any]
"""A Block Kit block as plain JSON."""

MAX_BYTES = 256 * 1024
"""The most bytes of a body: 256 KiB, more than twice as many as the app's longest message has."""

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

MAX_DEPTH = 40
_MAX_DIGITS = 20
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]{0,63}", re.ASCII)
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}", re.ASCII)


class BadInput(ValueError):
    """Input that is not accepted; the message names the field and the accepted values."""


async def read_body(request: web.Request, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the body as it was sent. Raises BadInput, or aiohttp's error of status 413 if the body is too large."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise BadInput("Content-Encoding: compressed bodies are not accepted")
    if (request.content_length or 0) > max_bytes:
        raise web.HTTPRequestEntityTooLarge(max_size=max_bytes, actual_size=request.content_length or 0)
    try:
        body = await request.read()
    except (web.RequestPayloadError, HttpProcessingError, OSError):  # Malformed chunks, or a connection that ended.
        raise BadInput("body: it cannot be read") from None
    if len(body) > max_bytes:
        raise web.HTTPRequestEntityTooLarge(max_size=max_bytes, actual_size=len(body))
    return body


def is_from_browser(headers: Mapping[str, str]) -> bool:
    """Return whether a browser sent the request. Only browsers send `Origin` or `Sec-Fetch-*`; the app does not."""
    return "Origin" in headers or any(name.lower().startswith("sec-fetch-") for name in headers)


async def arguments_of(request: web.Request) -> dict[str, Any]:
    """Return the fields of a body in JSON or of a form; empty for another content type. Raises BadInput."""
    body = await read_body(request)
    if request.content_type == JSON:
        return json_object(body) if body else {}
    if request.content_type != FORM:
        return {}
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=100))
    except ValueError:
        raise BadInput("body: it must be a form in UTF-8") from None


def json_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object. Raises BadInput."""
    try:
        value = json_value(body.decode())
    except UnicodeDecodeError:
        raise BadInput("body: it must be UTF-8") from None
    if not isinstance(value, dict):
        raise BadInput("body: it must be a JSON object")
    return value


def json_value(text: str) -> Any:
    """Parse JSON. Raises BadInput, also for infinite or huge numbers, lone surrogates and deep nesting."""
    try:
        value = json.loads(text, parse_constant=_reject_constant, parse_int=_parse_int, parse_float=_parse_float)
        for part, depth in walk(value):
            if depth > MAX_DEPTH:
                raise ValueError("nested too deeply")
            if isinstance(part, str):
                part.encode()
    except (ValueError, RecursionError):
        raise BadInput("body: it must be plain JSON") from None
    return value


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """Return a text field, empty if it is missing. Raises BadInput."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise BadInput(f"{name}: it must be text of at most {MAX_TEXT} characters")
    return value


def object_of(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a field that is an object, empty if it is missing. Raises BadInput."""
    value = fields.get(name) or {}
    if not isinstance(value, dict):
        raise BadInput(f"{name}: it must be an object")
    return value


def ts_of(fields: Mapping[str, Any], name: str) -> str | None:
    """Return a message's `ts`, such as "1700000000.000100"; None if it is missing. Raises BadInput."""
    value = fields.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not _TS.fullmatch(value):
        raise BadInput(f"{name}: it must be the ts of a message, such as 1700000000.000100")
    return value


def zone_of(fields: Mapping[str, Any], name: str) -> str | None:
    """Return the name of a time zone, such as "Europe/Berlin"; None if it is missing or unknown. Raises BadInput."""
    value = text_of(fields, name)
    if not _ZONE.fullmatch(value):
        return None
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def blocks_of(value: object) -> tuple[Block, ...]:
    """Return a message's blocks; empty for None. Raises BadInput."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise BadInput("blocks: they must be a list of objects")
    return tuple(value)


def _reject_constant(constant: str) -> object:
    raise ValueError(constant)


def _parse_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a giant number")
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a giant number")
    return number
