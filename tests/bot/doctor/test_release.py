"""What fails a release: settings that cannot be read, a database that cannot be used, a token that Slack refuses."""

from __future__ import annotations

import pytest

from bot.__main__ import main
from tests.bot.doctor import broken_setups
from tests.bot.doctor.broken_setups import BREAKINGS, Breaking, DoctorSetup
from tests.bot.doctor.conftest import Doctor
from tests.fakes.slack import Fault, refusal
from tests.rare import one_in

BLOCKING = {
    broken_setups.malformed,
    broken_setups.malformed_oauth,
    broken_setups.oauth_next_to_a_token,
    broken_setups.swapped_tokens,
    broken_setups.bad_pattern,
    broken_setups.wrong_key_ring,
    broken_setups.unknown_token,
    broken_setups.uninstalled,
    broken_setups.app_token,
    broken_setups.database_away,
    broken_setups.no_such_database,
    broken_setups.wiped_disk,
    broken_setups.data_path_is_taken,
}


def a_busy_slack(setup: DoctorSetup) -> None:
    setup.slack.lasting["auth.test"] = Fault(status=503)


def a_slack_that_breaks(setup: DoctorSetup) -> None:
    setup.slack.lasting["auth.test"] = refusal("internal_error")


def nothing_but_a_database(setup: DoctorSetup) -> None:
    setup.without(*(setup.env.keys() - {"DATABASE_URL", "HOST", "PORT"}))


OF_RELEASES = (a_busy_slack, a_slack_that_breaks, nothing_but_a_database)


@pytest.mark.parametrize("breaking", one_in(4, [*BREAKINGS, *OF_RELEASES]), ids=lambda breaking: breaking.__name__)
async def test_only_what_no_version_can_run_with_fails_a_release(doctor: Doctor, breaking: Breaking) -> None:
    breaking(doctor.setup)
    code, printed = await doctor("--release")

    assert code == (1 if breaking in BLOCKING else 0)
    assert ("ERROR" in printed) is (code == 1)


@pytest.mark.parametrize(
    ("name", "value", "ended"),
    [("SLACK_BOT_TOKEN", "xoxb-1", 0), ("SLACK_OAUTH_CLIENT_ID", "12.34", 0), ("RETRY_ATTEMPTS", "0", 2)],
)
@pytest.mark.usefixtures("logging_as_it_was")
def test_settings_that_are_not_set_yet_do_not_stop_the_migration(
    name: str, value: str, ended: int, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv(name, value)

    assert main(["migrate"]) == ended
