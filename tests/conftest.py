"""Settings of all tests: marks, and accepted reasons to skip.

A test may be skipped for the reasons that are listed here; any other skip fails. A
machine that lacks a program or a font is no reason: `make test` installs them.
"""

from collections.abc import Generator

import pytest
from pytest import TestReport

# The framework has nothing like it.
OF_ANOTHER_FRAMEWORK = {
    "a model of JAX holds no arrays",
    "of JAX",
    "of PyTorch",
    "of PyTorch and TensorFlow",
    "here one call waits for all devices",
    "here the step itself is not compiled",
    "MXNet's sum of infinities is no number",
    "only JAX deletes arrays that the program holds",
    "PyTorch computes on the CPU before a call returns",
}
NEEDS_A_GPU = {"needs a CUDA GPU"}
NEEDS_NO_GPU = {
    "the guide quotes the messages of a CPU build",
    "there is a card",
    "this framework is a GPU build",
    "with a GPU these are no mistakes",
}
# Nothing that could be installed would help there.
OF_ANOTHER_SYSTEM = {"npm has no Biome for this machine"}
# It has 220 MB: `make test-plans` installs it and runs these tests.
WITHOUT_COMPILER = {"the compiler for GPUs is not installed"}
OF_MAKE_QUICK = {"nothing has changed"}
REASONS = (
    OF_ANOTHER_FRAMEWORK
    | NEEDS_A_GPU
    | NEEDS_NO_GPU
    | OF_ANOTHER_SYSTEM
    | WITHOUT_COMPILER
    | OF_MAKE_QUICK
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, TestReport, TestReport]:
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in REASONS:
            report.outcome = "failed"
            report.longrepr = f"tests/conftest.py does not allow this skip: {reason}"
    return report


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: only in make test-all")
    speed = "depends on the speed of the machine: alone, at the end of make test-all"
    config.addinivalue_line("markers", f"timing: {speed}")
    alike = "of code that is the same in all libraries: in one framework"
    config.addinivalue_line("markers", f"shared: {alike}")
