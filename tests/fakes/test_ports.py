"""Two programs at once never have the same port."""

from __future__ import annotations

import subprocess
import sys

from tests.fakes.ports import free_port

COUNT = 90  # with the rest of a block, no more than two, which stay claimed
TAKE = f"from tests.fakes.ports import free_port\nprint(*[free_port() for _ in range({COUNT})], flush=True)\ninput()"


def test_programs_that_take_ports_at_once_have_different_ones() -> None:
    begun = [subprocess.Popen([sys.executable, "-c", TAKE], stdin=-1, stdout=-1, text=True) for _ in range(3)]
    taken = [free_port() for _ in range(COUNT)]
    for program in begun:
        assert program.stdout is not None
        taken += map(int, program.stdout.readline().split())
    for program in begun:
        program.communicate("\n")

    assert len({*taken}) == len(taken) == 4 * COUNT
