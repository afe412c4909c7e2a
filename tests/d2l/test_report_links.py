"""`gpu_report` describes the links between GPUs, NCCL, and launchers.

The tables are those that `nvidia-smi topo -m` prints on machines of several kinds.
"""

import json

import pytest

from d2l import report as reports

pytestmark = pytest.mark.shared

DGX_A100 = """
        \x1b[4mGPU0    GPU1    GPU2    GPU3    mlx5_0  mlx5_1  CPU Affinity\x1b[0m
GPU0     X      NV12    NV12    NV12    PXB     SYS     0-63    0
GPU1    NV12     X      NV12    NV12    PXB     SYS     0-63    0
GPU2    NV12    NV12     X      NV12    SYS     PXB     64-127  1
GPU3    NV12    NV12    NV12     X      SYS     PXB     64-127  1
mlx5_0  PXB     PXB     SYS     SYS      X      SYS
mlx5_1  SYS     SYS     PXB     PXB     SYS      X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks
"""
TWO_CARDS = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tPHB\t0-63\t0\t\tN/A\n"
    "GPU1\tPHB\t X \t0-63\t0\t\tN/A\n\nLegend:\n\n  X    = Self\n"
)
SWITCHES = """
        GPU0    GPU1    GPU2    GPU3    mlx4_0  CPU Affinity
GPU0     X      PIX     PHB     SYS     PHB     0-9,20-29
GPU1    PIX      X      NODE    SYS     PHB     0-9,20-29
GPU2    PHB     NODE     X      SYS     PHB     0-9,20-29
GPU3    SYS     SYS     SYS      X      SYS     10-19,30-39
mlx4_0  PHB     PHB     PHB     SYS      X
"""
GPUS = [
    {
        "index": str(i),
        "uuid": f"GPU-{i}",
        "name": "NVIDIA H100",
        "memory.total": "81559",
        "memory.free": "81000",
    }
    for i in range(2)
]


@pytest.fixture(autouse=True)
def no_launcher(d2l, monkeypatch):
    for variables in reports.LAUNCHERS.values():
        for name in variables.split():
            monkeypatch.delenv(name, raising=False)


def test_all_gpus_of_a_machine_have_nvlinks(d2l):
    links = reports.gpu_links(DGX_A100)
    assert links == dict.fromkeys(
        [(i, j) for i in range(4) for j in range(i + 1, 4)], "NV12"
    )
    assert reports.describe_links(links) == "NV12 (12 x NVLink) between all GPUs"


def test_two_cards_on_a_host_bridge(d2l):
    assert reports.gpu_links(TWO_CARDS) == {(0, 1): "PHB"}
    text = reports.describe_links(reports.gpu_links(TWO_CARDS))
    assert text == "PHB (a PCIe host bridge) between all GPUs"


def test_links_of_several_kinds_are_listed_by_kind(d2l):
    text = reports.describe_links(reports.gpu_links(SWITCHES))
    assert text == (
        "PIX (one PCIe switch) between GPUs 0-1; "
        "PHB (a PCIe host bridge) between GPUs 0-2; "
        "SYS (PCIe and both processors) between GPUs 0-3, 1-3, 2-3; "
        "NODE (PCIe and one processor) between GPUs 1-2"
    )


@pytest.mark.parametrize("text", ["", "Failed to initialize NVML", TWO_CARDS[:40]])
def test_an_answer_without_a_table_has_no_links(d2l, text):
    assert reports.gpu_links(text) == {}


def report_of(d2l, monkeypatch, topology=TWO_CARDS, **facts):
    """Return the report on a machine with two GPUs."""
    cards = [d2l.gpu_info(row) for row in GPUS]
    monkeypatch.setattr(reports, "query_gpus", lambda: (cards, ""))
    monkeypatch.setattr(reports, "nvidia_smi", lambda *options: (0, topology))
    info = d2l.FrameworkInfo("Framework 1.0", "install it", **facts)
    monkeypatch.setattr(d2l, "framework_info", lambda look=True: info)
    return d2l.gpu_report()


def test_the_report_shows_links_and_nccl(d2l, monkeypatch):
    seen = ["NVIDIA H100"] * 2
    report = report_of(d2l, monkeypatch, cuda="13.0", nccl="2.28.9", seen=seen)
    assert "Links      PHB (a PCIe host bridge) between all GPUs" in str(report)
    assert "NCCL 2.28.9" in str(report) and report.problems == []
    assert "Launcher" not in str(report)


TORCHRUN = {
    "RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "29500",
}
DMLC = {
    "DMLC_ROLE": "worker",
    "DMLC_PS_ROOT_URI": "10.0.0.1",
    "DMLC_PS_ROOT_PORT": "9000",
    "DMLC_NUM_WORKER": "2",
    "DMLC_NUM_SERVER": "1",
}
CLUSTER = {"worker": ["10.0.0.1:12345", "10.0.0.2:12345"]}
TF_CONFIG = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}


@pytest.mark.parametrize(
    "variables",
    [
        TORCHRUN,
        DMLC,
        {"TF_CONFIG": json.dumps(TF_CONFIG)},
        {"JAX_COORDINATOR_ADDRESS": "10.0.0.1:1234"},
    ],
)
def test_a_complete_environment_is_shown_and_is_no_problem(d2l, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    report = d2l.gpu_report()
    assert reports.launcher_settings() == report.launcher
    assert list(report.launcher.values()) == [variables]
    assert not list(d2l.launcher_problems(report))
    assert all(f"{name}=" in str(report) for name in variables)


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({**TORCHRUN, "MASTER_PORT": None}, "but MASTER_PORT is not."),
        ({"RANK": "0"}, "RANK is set, but WORLD_SIZE and LOCAL_RANK and MASTER_ADDR"),
        ({**TORCHRUN, "RANK": "4"}, "RANK=4 must be less than WORLD_SIZE=4."),
        ({**TORCHRUN, "RANK": "one"}, "RANK=one and WORLD_SIZE=4 must be numbers."),
        ({**DMLC, "DMLC_NUM_SERVER": None}, "but DMLC_NUM_SERVER is not."),
        ({"TF_CONFIG": "{'cluster': {}}"}, "TF_CONFIG is not valid JSON"),
        ({"TF_CONFIG": "[]"}, 'TF_CONFIG needs "cluster"'),
        ({"TF_CONFIG": '{"cluster": {}}'}, 'TF_CONFIG needs "cluster"'),
        (
            {"TF_CONFIG": json.dumps(TF_CONFIG).replace("1}", "2}")},
            'TF_CONFIG needs "cluster"',
        ),
    ],
)
def test_what_is_missing_or_wrong_is_one_problem(d2l, monkeypatch, variables, problem):
    for name, value in variables.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    found = [p for p in d2l.launcher_problems(d2l.gpu_report()) if problem in p]
    assert len(found) == 1


def test_more_processes_than_gpus(d2l, monkeypatch):
    for name, value in {**TORCHRUN, "LOCAL_RANK": "2", "RANK": "2"}.items():
        monkeypatch.setenv(name, value)
    report = report_of(d2l, monkeypatch, cuda="13.0", seen=["NVIDIA H100"] * 2)
    (problem,) = report.problems
    assert problem.startswith("LOCAL_RANK=2, but Framework 1.0 sees 2 GPU(s).")


def test_lines_with_long_settings_fit(d2l, monkeypatch):
    cluster = {"worker": [f"machine-{i}.example.org:12345" for i in range(8)]}
    task = {"type": "worker", "index": 0}
    text = json.dumps({"cluster": cluster, "task": task})
    monkeypatch.setenv("TF_CONFIG", text)
    lines = str(report_of(d2l, monkeypatch, DGX_A100)).splitlines()
    assert max(map(len, lines)) <= 72
