"""The playground's secret outlives the process, and is for nobody else's eyes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.services import load_or_create_secret


def test_the_secret_is_the_same_after_a_restart_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"

    assert load_or_create_secret(folder) == load_or_create_secret(folder)
    assert load_or_create_secret(tmp_path) != load_or_create_secret(folder)
    assert [(path.name, path.stat().st_mode & 0o777) for path in folder.iterdir()] == [("playground.key", 0o600)]


@pytest.mark.parametrize("kept", [b"", b"x", b"0" * 63, b"\xff" * 64, b"0" * 64 + b"\n"])
def test_a_secret_that_was_cut_is_made_anew(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "playground.key").write_bytes(kept)
    secret = load_or_create_secret(tmp_path)

    assert len(secret) == 64
    assert secret != "0" * 64
    assert load_or_create_secret(tmp_path) == secret


def test_where_nothing_can_be_kept_each_process_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert load_or_create_secret(tmp_path / "file") != load_or_create_secret(tmp_path / "file")
