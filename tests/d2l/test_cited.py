"""Published measurements are read from a file of the package, by `d2l/tables.py`."""

import pytest

pytestmark = pytest.mark.shared


def test_a_published_measurement_is_a_number(d2l):
    assert d2l.cited("queue-pytorch-finished") == 80.1


def test_an_unknown_measurement_is_one_line_with_similar_names(d2l):
    with pytest.raises(ValueError) as error:
        d2l.cited("queue-torch-finished")
    message = str(error.value)
    assert "'queue-torch-finished'" in message and "queue-pytorch-finished" in message
    assert "\n" not in message


def test_the_rows_of_a_topic_in_one_framework(d2l):
    rows = d2l.cited_rows("matmul", "JAX")
    assert [row.id for row in rows][::5] == ["matmul-jax-256", "matmul-jax-8192"]
    assert {(row.unit, row.hardware) for row in rows} == {("TFLOP/s", "RTX 4090")}
    assert all(isinstance(row.value, float) for row in rows)


def test_the_rows_of_a_topic_in_all_frameworks(d2l):
    assert {r.framework for r in d2l.cited_rows("launch")} == {"PyTorch", "JAX"}


@pytest.mark.parametrize("framework", [None, "MXNet"])
def test_an_unknown_topic_is_one_line_with_the_known_ones(d2l, framework):
    with pytest.raises(ValueError, match="topics are queue, clock,") as error:
        d2l.cited_rows("matmuls", framework)
    assert "'matmuls'" in str(error.value) and "\n" not in str(error.value)
