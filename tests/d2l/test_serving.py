"""`serve` against a list of events that is written another way."""

import heapq
import itertools
import math
import random

import pytest


def serve(d2l, requests, places, continuous=True, **options):
    """Return the times of the tokens of requests, given as tuples."""
    made = [d2l.Request(*request) for request in requests]
    return d2l.serve(made, places, continuous, **options)


def events(requests, places, continuous, step_time, budget, pages):
    """Return what `serve` returns, from a heap of users with their states."""
    users = [
        {"id": i, "at": at, "prompt": prompt, "want": want, "got": [], "done": 0}
        for i, (at, prompt, want) in enumerate(requests)
    ]
    queue = [(user["at"], user["id"]) for user in users]
    batch: list[dict] = []
    clock = 0

    def size(user):
        return math.ceil((user["prompt"] + len(user["got"])) / 16)

    while queue or batch:
        clock = clock if batch else max(clock, users[queue[0][1]]["at"])
        while sum(map(size, batch)) > pages:
            victim = batch.pop()
            victim["done"] = 0
            heapq.heappush(queue, (victim["at"], victim["id"]))
        open_door = continuous or not batch
        while open_door and queue and queue[0][0] <= clock and len(batch) < places:
            user = users[queue[0][1]]
            if sum(map(size, batch)) + size(user) > pages:
                break
            batch.append(users[heapq.heappop(queue)[1]])
        rest, before, shares = budget, sum(user["done"] for user in batch), []
        for user in batch:
            missing = user["prompt"] + len(user["got"]) - user["done"]
            shares.append(missing if missing < rest else rest)
            rest -= shares[-1]
        clock += step_time(sum(shares), before)
        leaving = []
        for user, share in zip(batch, shares, strict=True):
            user["done"] += share
            if user["done"] == user["prompt"] + len(user["got"]):
                user["got"].append(clock)
            if len(user["got"]) == user["want"]:
                leaving.append(user["id"])
        batch = [user for user in batch if user["id"] not in leaving]
    return [user["got"] for user in users]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.shared
def test_a_server_keeps_to_the_list_of_events(d2l, seed):
    draw = random.Random(seed)
    arrivals = sorted(
        draw.choice([draw.randint(0, 99), draw.uniform(0, 99)]) for _ in range(30)
    )
    requests = [(at, draw.randint(1, 80), draw.randint(1, 60)) for at in arrivals]
    options = {
        "step_time": lambda new, cached: 1 + 0.01 * new + 0.001 * cached,
        "budget": draw.choice([1, 7, 32, math.inf]),
        "pages": draw.choice([9, 20, 60, math.inf]),
    }
    for continuous in False, True:
        places = draw.randint(1, 12)
        found = serve(d2l, requests, places, continuous, **options)
        assert found == events(requests, places, continuous, *options.values())
        assert [len(times) for times in found] == [want for _, _, want in requests]


@pytest.mark.shared
def test_static_and_continuous_batches_counted_by_hand(d2l):
    requests = [(0, 1, n) for n in (3, 1, 1, 2)]
    assert serve(d2l, requests, 2, False) == [[1, 2, 3], [1], [4], [4, 5]]
    assert serve(d2l, requests, 2, True) == [[1, 2, 3], [1], [2], [3, 4]]
    assert serve(d2l, [], 2) == []
    assert serve(d2l, [(0, 1, 2), (4.5, 1, 1)], 1) == [[1, 2], [5.5]]


@pytest.mark.shared
def test_a_chunk_lets_others_decode(d2l):
    requests, timed = [(0, 1, 9), (2, 100, 1)], {"step_time": lambda new, _: new}
    whole, chunks = (serve(d2l, requests, 2, budget=b, **timed) for b in (math.inf, 11))
    assert max(b - a for a, b in itertools.pairwise(whole[0])) == 101
    assert max(b - a for a, b in itertools.pairwise(chunks[0])) == 11
    assert chunks[1] == [109] and whole[1] == [103]


@pytest.mark.shared
def test_preemption_frees_the_pages_of_the_last_request(d2l):
    seen = []

    def step_time(new, cached):
        seen.append((new, cached))
        return 1

    times = serve(d2l, [(0, 16, 2)] * 2, 2, step_time=step_time, pages=2)
    # Both prompts fill a page each; then the first needs a second page for its token.
    assert times == [[1, 2], [1, 3]]
    assert seen == [(32, 0), (1, 16), (17, 0)]


@pytest.mark.shared
@pytest.mark.parametrize(
    "requests, options, message",
    [
        ([(0, 1, 1)], {"places": 0}, "at least 1, not 0"),
        ([(0, 1, 1)], {"places": -1}, "at least 1, not -1"),
        ([(0, 1, 1)], {"budget": 0}, "not 8 and 0"),
        ([(0, 1, 0)], {}, "request 0 has 1 tokens and wants 0"),
        ([(0, 1, 1), (0, 0, 1)], {}, "request 1 has 0 tokens"),
        ([(0, 1, 1), (0, 1, -2)], {}, "request 1 has 1 tokens and wants -2"),
        ([(0, 30, 4)], {"pages": 2}, "request 0 does not fit into 2 pages"),
        ([(1, 1, 1), (0, 1, 1)], {}, "request 1 arrives before"),
        ([(0, 1, 1), (math.nan, 1, 1)], {}, "request 1 arrives before"),
    ],
)
def test_requests_that_cannot_be_served_are_one_line(d2l, requests, options, message):
    with pytest.raises(ValueError, match=message) as error:
        serve(d2l, requests, **({"places": 8} | options))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.shared
def test_the_largest_request_that_fits_is_served(d2l):
    (times,) = serve(d2l, [(0, 30, 3)], 1, pages=2)
    assert len(times) == 3
