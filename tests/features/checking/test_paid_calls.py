"""Of several calls, those that were paid are not paid again."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.settings import Settings
from tests.driver import Driver
from tests.end_to_end.test_paid_calls import booked
from tests.fakes.all_services import Services, services, with_all_services
from tests.fakes.paid_calls import CALLS

pytestmark = pytest.mark.trust(23)

__all__ = ["services"]


@pytest.fixture
def settings(settings: Settings, services: Services) -> Settings:
    return with_all_services(settings, services)


FAILS_ONCE = """
    CREATE SEQUENCE bookings;
    CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.effort = 'fast' AND nextval('bookings') = 2 THEN RAISE EXCEPTION 'away'; END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER fail_once BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION fail_once();
"""


async def test_what_was_paid_is_not_paid_again_when_the_database_is_away_for_a_moment(
    harness: Driver, services: Services
) -> None:
    line = "/pplx check The sky is blue."
    await harness.execute(FAILS_ONCE)
    await harness.ask(line, trigger="t1")
    await harness.wait_until_settled(1)

    calls = await booked(harness.database, len(CALLS[line]))
    assert Counter(call["effort"] for call in calls) == Counter(CALLS[line])
    assert len(services.perplexity.requests) == len(CALLS[line])
