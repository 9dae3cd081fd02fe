"""Rows of people in every table of the database, made from the list of tables and the real schema."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from psycopg import AsyncConnection
from psycopg.errors import CheckViolation
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from bot.privacy.tables import TABLES, Data

VALUES = {
    "surface": "slash",
    "state": "answered",
    "outcome": "answered",
    "kind": "answer",
    "stage": "facts",
}
"""What columns take that take certain words only; a digest's state is another's."""

BY_TYPE: dict[str, Any] = {
    "integer": 1,
    "bigint": 1,
    "boolean": False,
    "double precision": 0.25,
    "timestamp with time zone": "2026-01-02T03:04:05Z",
    "time without time zone": "09:00",
    "uuid": "00000000-0000-0000-0000-000000000001",
    "bytea": b"1",
    "date": "2026-01-02",
}


async def schema(connection: AsyncConnection[Any]) -> dict[str, dict[str, tuple[str, bool]]]:
    """Return each table's columns, with the type, and whether the database makes the value."""
    query = (
        "SELECT table_name, column_name, data_type, is_identity = 'YES' OR is_generated = 'ALWAYS'"
        " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
    )
    tables: dict[str, dict[str, tuple[str, bool]]] = {}
    for table, column, kind, made in await (await connection.execute(query)).fetchall():
        tables.setdefault(table, {})[column] = (kind, made)
    return tables


class PersonWithData:
    """A person in a workspace, of whom every table has something."""

    def __init__(self, user: str, team: str) -> None:
        self.user, self.team = user, team
        self.question, self.digest = uuid4(), uuid4()

    async def fill(self, connection: AsyncConnection[Any], **values: Any) -> list[str]:
        """Insert a row into each table that can have one of a person or a workspace; return these tables.

        `values` are for the columns of these names, in every table.
        """
        columns, filled = await schema(connection), []
        for table, listed in sorted(TABLES.items(), key=lambda item: item[1].parent is not None):
            if listed.of_person is None and listed.of_workspace is None:
                continue
            row = {
                column: values.get(column, self._value(table, column, kind, listed.columns[column]))
                for column, (kind, made) in columns[table].items()
                if not made
            }
            await self._insert(connection, table, row)
            filled.append(table)
        return filled

    async def _insert(self, connection: AsyncConnection[Any], table: str, row: dict[str, Any]) -> None:
        query = SQL("INSERT INTO {} ({}) VALUES ({})").format(
            Identifier(table),
            SQL(", ").join(map(Identifier, row)),
            SQL(", ").join(SQL("%s") for _ in row),
        )
        try:
            await connection.execute(query, list(row.values()))
        except CheckViolation as error:  # pragma: no cover - names the word that VALUES lacks
            raise AssertionError(f"{table}: {error}") from None

    def _value(self, table: str, column: str, kind: str, data: Data) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("budget_use", "scope"): "user",
            ("budget_use", "subject"): self.user,
            ("budgets", "scope"): "user",
            ("budgets", "subject"): self.user,
            ("digests", "state"): "paused",
            ("digests", "next_at"): None,
            ("ledger", "id"): uuid4(),
            ("ledger", "at"): "now",
            ("ledger", "state"): "settled",
            ("rate_limits", "kind"): "user",
            ("rate_limits", "subject"): self.user,
            ("shares", "state"): "posted",
            ("questions", "text_deleted_at"): None,
            ("channel_settings", "settings"): json.dumps({"askers": f"U999 {self.user}"}),
        }
        keys = {"question_id": self.question, "digest_id": self.digest, "parent": None}
        if (table, column) in known:
            return known[table, column]
        if column in keys:
            return keys[column]
        if column == "id":
            return self.question if table == "questions" else self.digest
        return self._of_kind(column, kind, data)

    def _of_kind(self, column: str, kind: str, data: Data) -> Any:
        # What holds nothing of the person does not name them.
        owner = f"{self.team}:{self.user}" if data in {Data.PERSON, Data.TEXT, Data.SECRET} else self.team
        text = VALUES.get(column, f"{owner}:{column}")
        if column == "user_id":
            return self.user
        if column in {"team_id", "user_team"}:
            return self.team
        match kind:
            case "text":
                return text
            case "jsonb" | "json":
                return json.dumps([text] if column == "messages" else {"said": text})
            case "ARRAY":
                return {"days": [0], "silence": [0], "reasons": [text], "streams": [text]}.get(column, [])
            case _:
                return BY_TYPE[kind]


async def find_text(connection: AsyncConnection[Any], needle: str) -> dict[str, int]:
    """Return in how many rows of which tables a text is anywhere."""
    found = {}
    for table in await schema(connection):
        query = SQL("SELECT count(*) FROM {} t WHERE strpos(to_jsonb(t)::text, %s) > 0").format(Identifier(table))
        row = await (await connection.execute(query, (needle,))).fetchone()
        if row and row[0]:
            found[table] = row[0]
    return found


async def all_rows(connection: AsyncConnection[Any], needle: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table that contain a text, in order."""
    rows = {}
    for table in await schema(connection):
        query = SQL("SELECT to_jsonb(t) AS row FROM {} t WHERE strpos(to_jsonb(t)::text, %s) > 0 ORDER BY 1").format(
            Identifier(table)
        )
        async with connection.cursor(row_factory=dict_row) as cursor:
            found = await (await cursor.execute(query, (needle,))).fetchall()
        rows[table] = [one["row"] for one in found]
    return rows
