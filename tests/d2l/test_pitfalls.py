"""What the section on pitfalls leaves in the library: errors shown, a GPU required."""

import pytest


def shown(d2l, capsys, error):
    """Return what `show_error` prints when `error` is raised inside."""
    with d2l.show_error():
        raise error
    return capsys.readouterr().out


def test_an_error_is_one_line_and_the_program_goes_on(d2l, capsys):
    assert shown(d2l, capsys, ValueError("\n  what is wrong\n")) == "what is wrong\n"


def test_the_line_that_says_what_is_wrong(d2l, fw, capsys):
    # MXNet says it last, behind the places in its own code
    line = "second" if fw.tab == "mxnet" else "first"
    assert shown(d2l, capsys, RuntimeError("first\nsecond")) == f"{line}\n"


def test_an_error_without_a_message(d2l, capsys):
    assert shown(d2l, capsys, ValueError()) == "\n"


def test_without_an_error_nothing_is_shown(d2l, capsys):
    with d2l.show_error():
        pass
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_still_ends_it(d2l, stop):
    with pytest.raises(stop), d2l.show_error():
        raise stop


def test_a_gpu_that_is_there(d2l, fake_gpu):
    assert d2l.require_gpu() == d2l.require_gpu(0) == fake_gpu


@pytest.mark.parametrize("i", [1, 10, -1])
def test_a_gpu_that_is_not_there(d2l, fake_gpu, i):
    with pytest.raises(RuntimeError, match=f"GPU {i} is needed.* 1 GPU"):
        d2l.require_gpu(i)


def test_no_gpu_at_all(d2l, fw, monkeypatch):
    fw.pretend(monkeypatch)
    with pytest.raises(RuntimeError, match="GPU 0 is needed.* 0 GPU"):
        d2l.require_gpu()
