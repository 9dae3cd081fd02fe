from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from perplexity.fallback import Breaker, BreakerPolicy, Permit
from tests.fakes.time import Time

POLICY = BreakerPolicy(failures=3, seconds=30.0)
REQUEST = 10.0


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        breaker.force().failed()


def admits(breaker: Breaker) -> bool:
    return breaker.try_acquire(seconds=REQUEST) is not None


@pytest.fixture
def time() -> Time:
    return Time(100.0)


@pytest.fixture
def breaker(time: Time) -> Breaker:
    return Breaker(POLICY, clock=time.clock)


@pytest.mark.parametrize(("failures", "open_"), [(0, False), (2, False), (3, True), (4, True)])
def test_it_opens_after_so_many_failures(breaker: Breaker, failures: int, open_: bool) -> None:
    fail(breaker, failures)

    assert (breaker.is_open, admits(breaker)) == (open_, not open_)


def test_failures_count_only_in_a_row(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.force().succeeded()
    fail(breaker, 2)

    assert not breaker.is_open


def test_a_request_that_says_nothing_neither_counts_nor_interrupts_a_row(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.force().release()
    assert not breaker.is_open

    fail(breaker, 1)

    assert breaker.is_open


@pytest.mark.parametrize(("passed", "let"), [(0.0, False), (29.9, False), (30.0, True)])
def test_an_open_circuit_stays_open_for_its_seconds(breaker: Breaker, time: Time, passed: float, let: bool) -> None:
    fail(breaker, 3)
    time.now += passed

    assert admits(breaker) is let


def test_one_probe_goes_out_and_no_other_meanwhile(breaker: Breaker, time: Time) -> None:
    fail(breaker, 3)
    time.now += 30

    assert [admits(breaker) for _ in range(3)] == [True, False, False]


def probe_of(breaker: Breaker, time: Time) -> Permit:
    fail(breaker, 3)
    time.now += 30
    probe = breaker.try_acquire(seconds=REQUEST)
    assert probe is not None
    return probe


def test_a_probe_that_succeeds_closes_it(breaker: Breaker, time: Time) -> None:
    probe_of(breaker, time).succeeded()

    assert [admits(breaker) for _ in range(3)] == [True] * 3


def test_a_probe_that_fails_lets_it_rest_again(breaker: Breaker, time: Time) -> None:
    probe_of(breaker, time).failed()

    assert not admits(breaker)
    time.now += 30
    assert admits(breaker)


def test_a_probe_that_is_abandoned_gives_its_place_to_the_next(breaker: Breaker, time: Time) -> None:
    probe_of(breaker, time).release()

    assert [admits(breaker) for _ in range(2)] == [True, False]


def test_a_probe_that_never_ends_is_given_up(breaker: Breaker, time: Time) -> None:
    probe_of(breaker, time)
    time.now += min(REQUEST, POLICY.seconds) - 0.1
    assert not admits(breaker)

    time.now += 0.1

    assert [admits(breaker) for _ in range(2)] == [True, False]


def test_a_probe_that_was_given_up_does_not_free_the_place_of_the_next(breaker: Breaker, time: Time) -> None:
    first = probe_of(breaker, time)
    time.now += REQUEST + POLICY.seconds
    assert admits(breaker)

    first.release()

    assert not admits(breaker)


def test_a_request_from_before_it_opened_does_not_free_the_place_of_the_probe(breaker: Breaker, time: Time) -> None:
    straggler = breaker.force()
    probe_of(breaker, time)

    straggler.release()

    assert not admits(breaker)


def test_a_hanging_probe_of_a_recovered_provider_blocks_no_call(breaker: Breaker, time: Time) -> None:
    probe_of(breaker, time)
    breaker.force().succeeded()
    fail(breaker, 3)
    time.now += 30

    assert [admits(breaker) for _ in range(2)] == [True, False]


def test_only_the_first_end_of_a_request_counts(breaker: Breaker) -> None:
    fail(breaker, 2)
    permit = breaker.force()
    permit.succeeded()
    permit.failed()
    permit.release()
    fail(breaker, 2)

    assert not breaker.is_open


@pytest.mark.parametrize(
    ("passed", "probing", "left"), [(0.0, False, 30.0), (29.0, False, 1.0), (30.0, False, 0.0), (30.0, True, REQUEST)]
)
def test_it_says_when_it_lets_a_request_out(
    breaker: Breaker, time: Time, passed: float, probing: bool, left: float
) -> None:
    assert breaker.seconds_left == 0.0
    fail(breaker, 3)
    time.now += passed
    if probing:
        assert admits(breaker)

    assert breaker.seconds_left == left


def test_a_request_is_sent_again_while_the_breaker_is_closed(breaker: Breaker) -> None:
    permit = breaker.force()
    assert [permit.may_retry(retried=retried) for retried in (False, False, True, True)] == [True] * 4

    fail(breaker, 3)

    assert not permit.may_retry(retried=False)


def test_of_requests_that_fail_at_the_same_time_each_is_sent_again_once(breaker: Breaker) -> None:
    first, second = breaker.force(), breaker.force()
    assert [first.may_retry(retried=False), second.may_retry(retried=False)] == [True, True]
    assert [first.may_retry(retried=True), second.may_retry(retried=True)] == [False, False]

    second.release()

    assert first.may_retry(retried=True)


class AnyOrder(RuleBasedStateMachine):
    """Requests that begin and end in any order, at any time; what must hold of a breaker after each of them."""

    permits = Bundle[Permit]("permits")

    def __init__(self) -> None:
        super().__init__()
        self.time = Time(0.0)
        self.breaker = Breaker(POLICY, clock=self.time.clock)
        self.failures = 0
        self.last_failure = 0.0
        self.probes: dict[int, float] = {}

    @rule(seconds=st.sampled_from([0.125, 10.0, 30.0, 40.0]))
    def waits(self, seconds: float) -> None:
        self.time.now += seconds

    @rule(target=permits)
    def begins(self) -> Permit:
        was_open = self.breaker.is_open
        permit = self.breaker.try_acquire(seconds=REQUEST)
        if permit is None:
            assert was_open, "a closed breaker lets everything through"
            assert self.is_resting() or self.alive(), "an open one that has rested lets a probe through"
            return self.breaker.force()
        if was_open:
            assert not self.is_resting(), "an open one rests first"
            assert not self.alive(), "there is one probe at a time"
            self.probes[id(permit)] = self.time.now
        return permit

    @rule(permit=consumes(permits))
    def succeeds(self, permit: Permit) -> None:
        permit.succeeded()
        self.failures = 0
        self.probes.clear()

    @rule(permit=consumes(permits))
    def fails(self, permit: Permit) -> None:
        permit.failed()
        self.failures, self.last_failure = self.failures + 1, self.time.now
        self.probes.pop(id(permit), None)

    @rule(permit=consumes(permits))
    def is_abandoned(self, permit: Permit) -> None:
        permit.release()
        self.probes.pop(id(permit), None)

    @precondition(lambda self: self.breaker.is_open)
    @rule()
    def is_never_stuck(self) -> None:
        self.time.now += REQUEST + POLICY.seconds
        permit = self.breaker.try_acquire(seconds=REQUEST)
        assert permit is not None
        permit.release()
        self.probes.clear()

    @invariant()
    def is_open_after_so_many_failures_in_a_row(self) -> None:
        assert self.breaker.is_open == (self.failures >= POLICY.failures)

    def is_resting(self) -> bool:
        return self.time.now < self.last_failure + POLICY.seconds

    def alive(self) -> list[float]:
        return [begun for begun in self.probes.values() if self.time.now < begun + min(REQUEST, POLICY.seconds)]


TestAnyOrder = AnyOrder.TestCase
