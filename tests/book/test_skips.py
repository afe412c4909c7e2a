"""A test that is skipped without a listed reason fails, see tests/conftest.py."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """\
import pytest

def test_in_its_body():
    pytest.skip("no tool")

@pytest.mark.skip(reason="later")
def test_by_a_mark():
    pass

@pytest.mark.skipif(True, reason="needs a CUDA GPU")
def test_that_may_be_skipped():
    pass
"""


@pytest.mark.slow
def test_a_skip_without_a_listed_reason_fails(tmp_path: Path):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_made_up.py").write_text(TESTS)
    options = ["-p", "no:cacheprovider", "-ra", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", *options]
    wide = os.environ | {"COLUMNS": "200"}
    ran = subprocess.run(
        command, cwd=tmp_path, env=wide, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert re.search(r"FAILED .*test_in_its_body - .*: no tool", ran.stdout)
    assert re.search(r"ERROR .*test_by_a_mark - .*: later", ran.stdout)
    assert "1 failed, 1 skipped, 1 error" in ran.stdout
