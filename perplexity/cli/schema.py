"""`--schema`: a JSON Schema from a file, and answers held to it.

https://json-schema.org/draft/2020-12
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from jsonschema import SchemaError
from referencing.exceptions import Unresolvable

from perplexity.cli.base import Failure, UsageError
from perplexity.tools.schemas import check, misfit
from perplexity.types import JSON, Answer


def read_schema(path: Path) -> dict[str, JSON]:
    """Return the schema. Raises UsageError where the file holds none, or one that refers to what is not in it."""
    try:
        schema = json.loads(path.read_bytes())
        check(schema)
    except OSError as error:
        raise UsageError(f"--schema: {path} cannot be read ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"--schema: {path} is not JSON") from None
    except RecursionError:
        raise UsageError(f"--schema: {path} is nested too deeply") from None
    except SchemaError as error:
        raise UsageError(f"--schema: {path} is no JSON Schema: {error.message}") from None
    except Unresolvable as error:
        raise UsageError(f"--schema: {path} refers to {error.ref!r}, which it does not hold") from None
    if not isinstance(schema, dict):
        raise UsageError(f"--schema: {path} holds no JSON object; a JSON Schema is one")
    return schema


def hold(answer: Answer, schema: Mapping[str, JSON]) -> None:
    """Raise Failure unless the answer is JSON of this schema."""
    if answer.incomplete:
        raise Failure(f"the JSON broke off ({answer.incomplete}); ask for less, or try again")
    if wrong := misfit(answer.text, schema):
        raise Failure(f"{wrong}; try again, or with another --model")
