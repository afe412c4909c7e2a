"""Outputs keep what the chapter prints and lose what cannot repeat."""

import multiprocessing

import pytest
from nbformat.v4 import new_output

from book.records.cleaning import as_on_terminal, clean_outputs, without_logs

LOGS = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1763715.123456    1234 cpu_feature_guard.cc:227] To enable AVX2
E0000 00:00:1763715.123456    1234 cuda_executor.cc:1309] INTERNAL: CUDA Runtime error
2026-11-21 09:00:00.123456: I tensorflow/core/util/port.cc:153] oneDNN custom operations
2026-11-21 09:00:00.123456: E external/local_xla/xla/cuda/x.cc:51] no CUDA
[rank3]:W1128 08:02:40.275000 14390 torch/distributed/tensor/_redistribute.py:390] While
To enable the following instructions: AVX2 FMA, in other operations, rebuild.
WARNING:2026-11-21 09:00:00,123:jax._src.xla_bridge:794: An NVIDIA GPU may be present
[09:00:00] ../src/base.cc:79: cuDNN lib mismatch
/lib/site-packages/IPython/core/x.py:3: UserWarning: an old IPython
  import old
"""


def stream(text: str, name: str = "stdout"):
    return new_output("stream", name=name, text=text)


def test_log_lines_of_frameworks_go():
    assert without_logs(LOGS) == ""


@pytest.mark.parametrize(
    "text", ["asked for 8, using 0\n", "I had 3\n", "[1, 2] src/a\n", "  indented\n"]
)
def test_other_lines_stay(text: str):
    assert without_logs(LOGS + text + LOGS) == text


def test_warnings_lose_their_path_and_source():
    text = "/tmp/ipykernel_12/345.py:3: UserWarning: few GPUs\n  warn(x)\nend\n"
    assert without_logs(text) == "UserWarning: few GPUs\nend\n"


def test_logs_are_taken_out_of_stderr_alone():
    assert clean_outputs([stream(LOGS, "stderr")]) == []
    assert clean_outputs([stream(LOGS)])[0].text == LOGS


def test_stdout_is_kept_exactly():
    text = "┌─┐ \\ <a> *b* _c_ `d` |  \n\n   trailing   \n"
    assert clean_outputs([stream(text)])[0].text == text


def test_neighbouring_streams_are_merged_by_name():
    figure = new_output("display_data", {"image/png": "AAAA"})
    outputs = [stream("a"), stream("w\n", "stderr"), stream("b"), figure, stream("c")]
    cleaned = clean_outputs(outputs)
    assert [o.get("text", "figure") for o in cleaned] == ["ab", "w\n", "figure", "c"]


def test_of_a_progress_bar_the_end_stays():
    bar = "\x1b[1m0%\x1b[0m\r 50%\r100%\nnext\r\n12\x08\x083\n"
    assert clean_outputs([stream(bar)])[0].text == "100%\nnext\n3\n"


@pytest.mark.parametrize(
    "printed, shown",
    [
        ("50%\r100%\r\n", "100%\n"),
        ("50%\r100%\r", "100%"),
        ("a\rb\nc\r\r\n\rd", "b\nc\nd"),
        ("ab\x08\x08cd\x08\n\x08e", "c\ne"),
        ("\x1b[31mred\x1b[0m \x1b[K", "red "),
        ("\x07a\x00b\x1b\x7fc\ud800\ufffed\te", "abcd\te"),
    ],
)
def test_a_terminal_shows_what_was_not_overwritten(printed: str, shown: str):
    assert as_on_terminal(printed) == shown


def test_figures_lose_dates_and_comments():
    svg = (
        '<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C">\n'
        "<svg><!-- made\nby --><metadata><dc:date>2026</dc:date></metadata>"
        "<path/></svg>"
    )
    data = {"image/svg+xml": svg, "text/plain": "<Figure size 350x250>"}
    (cleaned,) = clean_outputs([new_output("display_data", data)])
    assert cleaned.data["image/svg+xml"] == "<svg><path/></svg>"
    assert cleaned.data["text/plain"] == "<Figure size 350x250>"


def test_parts_of_a_figure_without_an_end_stay():
    svg = "<svg><!-- a --> <path/><metadata><!-- b"
    data = {"image/svg+xml": svg}
    (cleaned,) = clean_outputs([new_output("display_data", data)])
    assert cleaned.data["image/svg+xml"] == "<svg><path/><metadata><!-- b"


# What takes time that grows with the square of its length takes minutes here.
LENGTH = 300_000
SECONDS = 10
REPEATED = [
    *("a", " ", "1", "\r", "\r\n", "\x08", "\x1b", "a\r", "\ra", "a\x08", "\x08a"),
    *(
        "\x1b[",
        "\x1b[1;",
        "\x1b[1m",
        ":1",
        ":1: ",
        "a:1: a",
        "a:1: aWarning",
        "Warning",
    ),
    *(
        "Warning: ",
        "[09:00:00] ",
        "[09:00:00] a",
        "src/",
        "I0000 00:00:1",
        "./",
        "An NV",
    ),
    *("2026-01-02 03:04:05.1", "WARNING:2026-01-02 :", ":jax", "/IPython", "pkg_"),
    *("<!--", "-->", "<!---->", "<metadata>", "<metadata></metadata>", "<?xml", "?>"),
    *("<!DOCTYPE", "<!DOCTYPE>", ">", "<", "<!-- <metadata> --> ", "<?xml?> <"),
]
ENDED = [
    "a" * (LENGTH // 2) + "\x08" * (LENGTH // 2),
    "\x1b[" + "1" * LENGTH,
    "a:" + "1" * LENGTH,
    "a:1: " + "a" * LENGTH,
    "I0000 00:00:" + "1" * LENGTH,
    "[09:00:00] " + "a" * LENGTH,
    "WARNING:2026-01-02 " + ":" * LENGTH,
    "<metadata>" + " " * LENGTH,
]


def clean_in_all_places(text: str) -> None:
    for name in ("stdout", "stderr"):
        clean_outputs([stream(text, name)])
    for kind in ("text/plain", "image/svg+xml"):
        clean_outputs([new_output("display_data", {kind: text})])


@pytest.mark.timing
def test_long_lines_are_cleaned_quickly():
    slow = [
        text[:20]
        for text in [*(part * (LENGTH // len(part)) for part in REPEATED), *ENDED]
        if not is_cleaned_in_time(text)
    ]
    assert slow == []


def is_cleaned_in_time(text: str) -> bool:
    # In a process of its own, since a regular expression hears no alarm.
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=clean_in_all_places, args=(text,))
    process.start()
    process.join(SECONDS)
    process.kill()
    process.join()
    return process.exitcode == 0
