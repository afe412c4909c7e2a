"""The kernels that `make bench-kernels` times compute what the framework computes.

They run in the interpreters of the kernel languages, so no time is measured here.
"""

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks import kernels
from book.base import environments

pytestmark = pytest.mark.slow
COMPARE_PAIRS = Path(__file__).with_name("compare_pairs.py")


@pytest.mark.parametrize("tab", list(kernels.LOOPS))
def test_both_functions_of_a_pair_return_the_same(tab, tmp_path):
    code = "\n".join(kernels.definitions(each, tab) for each in kernels.SECTIONS)
    (tmp_path / "section.py").write_text(code)
    file = kernels.LOOPS[tab]
    paths = os.pathsep.join(map(str, [kernels.ROOT, tmp_path, file.parent]))
    result = subprocess.run(
        [environments.python(tab), COMPARE_PAIRS, tab, file.stem, "section"],
        env=os.environ | {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.count("twice: the results differ by 1\n") == 4
