"""`serve` against tokens counted by hand."""

import itertools
import math

import pytest

pytestmark = pytest.mark.shared


def serve(d2l, requests, places, continuous=True, **options):
    """Return the times of the tokens of requests, given as tuples."""
    made = [d2l.Request(*request) for request in requests]
    return d2l.serve(made, places, continuous, **options)


def test_static_and_continuous_batches_counted_by_hand(d2l):
    requests = [(0, 1, n) for n in (3, 1, 1, 2)]
    assert serve(d2l, requests, 2, False) == [[1, 2, 3], [1], [4], [4, 5]]
    assert serve(d2l, requests, 2, True) == [[1, 2, 3], [1], [2], [3, 4]]
    assert serve(d2l, [], 2) == []
    assert serve(d2l, [(0, 1, 2), (4.5, 1, 1)], 1) == [[1, 2], [5.5]]


def test_a_chunk_lets_others_decode(d2l):
    requests, timed = [(0, 1, 9), (2, 100, 1)], {"step_time": lambda new, _: new}
    whole, chunks = (serve(d2l, requests, 2, budget=b, **timed) for b in (math.inf, 11))
    assert max(b - a for a, b in itertools.pairwise(whole[0])) == 101
    assert max(b - a for a, b in itertools.pairwise(chunks[0])) == 11
    assert chunks[1] == [109] and whole[1] == [103]


def test_preemption_frees_the_pages_of_the_last_request(d2l):
    seen = []

    def step_time(new, cached):
        seen.append((new, cached))
        return 1

    times = serve(d2l, [(0, 16, 2)] * 2, 2, step_time=step_time, pages=2)
    # Both prompts fill a page each; then the first needs a second page for its token.
    assert times == [[1, 2], [1, 3]]
    assert seen == [(32, 0), (1, 16), (17, 0)]
    assert serve(d2l, [(0, 16, 2)] * 3, 2, pages=2) == [[1, 2], [1, 3], [4, 5]]
    assert serve(d2l, [(0, 8, 1)] * 2, 2, pages=1) == [[1], [2]]


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
        ([(0, 1, 1), (math.nan, 1, 1)], {}, "request 1 arrives at nan"),
        ([(math.nan, 1, 1)], {}, "request 0 arrives at nan"),
        ([(math.inf, 1, 1)], {}, "request 0 arrives at inf"),
    ],
)
def test_requests_that_cannot_be_served_are_one_line(d2l, requests, options, message):
    with pytest.raises(ValueError, match=message) as error:
        serve(d2l, requests, **({"places": 8} | options))
    assert len(str(error.value).splitlines()) == 1


def test_the_largest_request_that_fits_is_served(d2l):
    (times,) = serve(d2l, [(0, 30, 3)], 1, pages=2)
    assert len(times) == 3
