"""The kernels that `make bench-kernels` times compute what the framework computes.

They run in the interpreters of the kernel languages, so no time is measured here. They
refuse shapes for which they would compute something else.
"""

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks import kernels
from book.base import environments

pytestmark = pytest.mark.slow
COMPARE_PAIRS = Path(__file__).with_name("compare_pairs.py")
KERNEL_EDGES = Path(__file__).with_name("kernel_edges.py")


def run(tab: str, folder: Path, *command: str | Path) -> str:
    """Return what a program prints beside the kernels of a tab, as `section`."""
    code = "\n".join(kernels.definitions(each, tab) for each in kernels.SECTIONS)
    (folder / "section.py").write_text(code)
    paths = os.pathsep.join(map(str, [kernels.ROOT, folder, kernels.LOOPS[tab].parent]))
    result = subprocess.run(
        [environments.python(tab), *command, "section"],
        env=os.environ | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


@pytest.mark.parametrize("tab", list(kernels.LOOPS))
def test_both_functions_of_a_pair_return_the_same(tab, tmp_path):
    printed = run(tab, tmp_path, COMPARE_PAIRS, tab, kernels.LOOPS[tab].stem)
    plans = 5 if tab == "pytorch" else 0  # of a product, each beside PyTorch's
    assert printed.count("twice: the results differ by 1\n") == 4 + plans


@pytest.mark.parametrize("tab", list(kernels.LOOPS))
def test_kernels_are_right_or_refuse_in_one_line(tab, tmp_path):
    assert run(tab, tmp_path, KERNEL_EDGES, tab) == ""
