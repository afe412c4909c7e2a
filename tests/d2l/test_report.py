"""The reports of `gpu_report` and `python -m d2l` on many kinds of machines.

A program called nvidia-smi, in front of PATH, stands for the driver. Its answers have
the documented formats: the CSV of `--query-gpu` and the texts and exit statuses of
nvidia-smi's manual, and the head of its table before and since driver 610.
"""

import importlib.util
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from d2l import __main__ as command
from d2l import report as reports

ROOT = Path(__file__).parents[2]
FAKE = """#!{python} -SE
import json, sys, time
machine = json.load(open({answers!r}))
option = sys.argv[1] if len(sys.argv) > 1 else ''
time.sleep(machine['sleep'])
if machine['says'] is not None:
    sys.stdout.buffer.write(machine['says'].encode('latin-1'))
    sys.exit(machine['status'])
if option.startswith('--query-compute-apps='):
    print(*machine['apps'], sep='\\n')
elif option.startswith('--query-gpu='):
    fields = option.partition('=')[2].split(',')
    for field in fields:
        if field not in machine['knows']:
            print(f'Field "{{field}}" is not a valid field to query.\\n')
            sys.exit(2)
    print(*machine['warns'], sep='\\n')
    for gpu in machine['gpus']:
        print(', '.join(gpu[field] for field in fields))
else:
    print(machine['head'])
"""
H100 = {
    "index": "0",
    "uuid": "GPU-11111111-aaaa-bbbb-cccc-000000000000",
    "name": "NVIDIA H100 80GB HBM3",
    "compute_cap": "9.0",
    "memory.total": "81559",
    "memory.free": "80994",
    "mig.mode.current": "Disabled",
}
SECOND = H100 | {"index": "1", "uuid": "GPU-22222222-aaaa-bbbb-cccc-000000000000"}
A100 = H100 | {"name": "NVIDIA A100-SXM4-80GB", "compute_cap": "8.0"}
HEAD = "| NVIDIA-SMI {0}    Driver Version: {0}    CUDA Version: {1}     |"
HEAD_610 = "| NVIDIA-SMI {0}    KMD Version: {0}    CUDA UMD Version: {1}     |"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make"
    " sure that the latest NVIDIA driver is installed and running.\n\n"
)
HEALTHY = {
    "gpus": [H100],
    "knows": list(H100),
    "head": HEAD.format("580.95.05", "13.0"),
    "apps": [],
    "warns": [],
    "says": None,
    "status": 0,
    "sleep": 0,
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Make a machine without real cards whose nvidia-smi gives chosen answers."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    script, answers = tmp_path / "bin" / "nvidia-smi", tmp_path / "answers"
    script.parent.mkdir()
    script.write_text(FAKE.format(python=sys.executable, answers=str(answers)))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)

    def make(**differs):
        answers.write_text(json.dumps(HEALTHY | differs))
        return script

    return make


@pytest.fixture
def no_nvidia_smi(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def built(d2l, monkeypatch):
    """Replace the answers of the framework by those of another build."""

    def build(**facts):
        info = d2l.FrameworkInfo("Framework 1.0", "pip install it", **facts)
        monkeypatch.setattr(d2l, "framework_info", lambda look=True: info)

    return build


@pytest.fixture
def cpu_build(d2l):
    """Skip a test that needs a CPU build, such as the environments of the book have."""
    if d2l.framework_info(look=False).cuda:
        pytest.skip("this framework is a GPU build")


GPU_BUILD = {"cuda": "13.0", "cudnn": "91900", "seen": ["NVIDIA H100 80GB HBM3"]}


def only(problems):
    """Return the only problem; fail if there are several or none."""
    assert len(problems) == 1, problems
    return problems[0]


# The driver


@pytest.mark.shared
def test_a_healthy_machine(d2l, machine, built):
    machine()
    built(**GPU_BUILD)
    report = d2l.gpu_report()
    assert (report.driver, report.driver_cuda) == ("580.95.05", "13.0")
    (gpu,) = report.gpus
    assert (gpu.index, gpu.name) == (0, "NVIDIA H100 80GB HBM3")
    assert (gpu.capability, gpu.total, gpu.free) == (9.0, 81559, 80994)
    assert not gpu.divided and report.problems == [] and report.complaint == ""
    text = str(report)
    assert text == repr(report) and "Problems   none" in text
    for shown in ("580.95.05", "13.0", "79.1 of 79.6 GiB", "Framework 1.0", "91900"):
        assert shown in text


@pytest.mark.shared
@pytest.mark.parametrize(
    "head, cuda, found",
    [
        (HEAD, "13.3", "13.3"),
        (HEAD_610, "13.3", "13.3"),
        *((HEAD, cuda, "") for cuda in ("N/A", "ERR!", "")),
    ],
)
def test_heads_of_the_table(machine, head, cuda, found):
    text = head.format("610.57.04", cuda)
    machine(head=f"Mon Jan  5 10:00:00 2026\n+----+\n{text}")
    assert reports.driver_versions() == ("610.57.04", found)


@pytest.mark.shared
@pytest.mark.parametrize(
    "value", ["[N/A]", "[Not Supported]", "[Insufficient Permissions]", "N/A", ""]
)
def test_unknown_values_are_not_problems(d2l, machine, built, value):
    unknown = {"memory.total": value, "memory.free": value, "compute_cap": value}
    machine(gpus=[H100 | unknown | {"mig.mode.current": "[N/A]"}])
    built(**GPU_BUILD, newest=8.9)
    report = d2l.gpu_report()
    (gpu,) = report.gpus
    assert (gpu.total, gpu.free, gpu.capability) == (None, None, None)
    assert report.problems == [] and "? of ? GiB free" in str(report)


@pytest.mark.shared
def test_an_old_driver_that_knows_fewer_fields(machine):
    known = [f for f in H100 if f not in ("compute_cap", "mig.mode.current")]
    machine(knows=known)
    gpus, complaint = reports.query_gpus()
    assert [(g.total, g.capability, g.divided) for g in gpus] == [(81559, None, False)]
    assert complaint == ""


@pytest.mark.shared
def test_warnings_among_the_answers(machine):
    machine(gpus=[H100, SECOND], warns=["WARNING: infoROM is corrupted at gpu 0000:3B"])
    gpus, complaint = reports.query_gpus()
    assert [gpu.index for gpu in gpus] == [0, 1] and complaint == ""


COMPLAINTS = [
    (NO_DRIVER, 9, "install the driver again"),
    ("Failed to initialize NVML: Driver/library version mismatch\n"
     "NVML library version: 535.129\n", 18, "updated while it was in use"),
    ("No devices were found\n", 6, "start it with a GPU"),
    ("No devices were found\n", 0, "start it with a GPU"),
    ("Failed to initialize NVML: Unknown Error\n", 255, "it has lost its GPU"),
    ("Failed to initialize NVML: Insufficient Permissions\n", 4, "administrator"),
    ("Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n", 15,
     "Restart the machine"),
    ("\xff\xfe broken \x00\n", 1, "Restart the machine"),
    ("", 0, "nothing"),
    ("", 255, "nothing"),
]  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("says, status, remedy", COMPLAINTS)
def test_remedy_for_an_error_of_nvidia_smi(d2l, machine, built, says, status, remedy):
    machine(says=says, status=status)
    built(cuda="13.0")
    report = d2l.gpu_report()
    assert remedy in only(report.problems) and report.gpus == []
    words = says.encode("latin-1").decode(errors="replace").split()
    assert " ".join(words[:4]) in " ".join(only(report.problems).split())


@pytest.mark.shared
def test_a_lost_gpu_beside_one_that_answers(d2l, machine, built):
    machine(says="0, GPU-1, A, 8.0, 40960, 40000, Disabled\nGPU is lost.\n", status=15)
    built(**GPU_BUILD)
    report = d2l.gpu_report()
    assert [gpu.name for gpu in report.gpus] == ["A"]
    assert "GPU is lost" in only(report.problems)


def test_nvidia_smi_that_hangs(d2l, machine, monkeypatch):
    machine(sleep=60)
    monkeypatch.setattr(reports, "nvidia_smi", partial(reports.nvidia_smi, timeout=0.5))
    asked, info = [], d2l.framework_info()

    def framework_info(look):
        asked.append(look)
        return info

    monkeypatch.setattr(d2l, "framework_info", framework_info)
    report = d2l.gpu_report()
    assert "no answer within 0.5 seconds" in only(report.problems)
    assert "stuck" in only(report.problems) and asked == [False]


@pytest.mark.shared
@pytest.mark.parametrize(
    "cards, facts, words, problem",
    [
        (0, {}, "no NVIDIA GPU was found", None),
        (1, {}, "", "Install the driver"),
        (1, GPU_BUILD, "It sees    NVIDIA H100", None),
    ],
)
def test_without_nvidia_smi(
    d2l, no_nvidia_smi, built, monkeypatch, cards, facts, words, problem
):
    monkeypatch.setattr(reports, "nvidia_cards", lambda: cards)
    built(**facts)
    report = d2l.gpu_report()
    assert (report.driver, report.gpus) == ("", []) and words in str(report)
    assert [problem in text for text in report.problems] == [True] * bool(problem)


@pytest.mark.shared
def test_nvidia_smi_that_may_not_run(d2l, machine, no_nvidia_smi, monkeypatch):
    script = machine()
    script.chmod(0o644)
    monkeypatch.setenv("PATH", str(script.parent))
    assert d2l.nvidia_smi() == (None, "")


@pytest.mark.shared
def test_cards_on_the_bus(d2l, tmp_path):
    for name, vendor, kind in [
        ("a", "0x10de", "0x030200"),
        ("b", "0x10de", "0x030000"),
        ("c", "0x10de", "0x040300"),  # the sound of a graphics card
        ("d", "0x8086", "0x030000"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    (tmp_path / "e").mkdir()
    assert reports.nvidia_cards(str(tmp_path)) == 2
    assert reports.nvidia_cards(str(tmp_path / "nowhere")) == 0


# The build


def test_the_cpu_build_that_is_here(d2l, fw, machine, cpu_build):
    machine(gpus=[A100])
    report = d2l.gpu_report()
    assert "is a CPU build" in only(report.problems)
    assert report.framework.install in only(report.problems)
    package = "jax" if fw.tab == "jax" else fw.package
    assert "pip install" in report.framework.install
    assert package in report.framework.install


def test_a_gpu_that_no_package_of_mxnet_fits(d2l, fw, machine, cpu_build):
    machine()
    problem = only(d2l.gpu_report().problems)
    if fw.tab == "mxnet":
        assert "too new" in problem and "9.0" in problem and "pip" not in problem
    else:
        assert "CPU build" in problem


@pytest.mark.shared
@pytest.mark.parametrize(
    "capability, limits, words",
    [
        ("9.0", {"newest": 8.9}, "too new"),
        ("12.0", {"newest": 9.9}, "too new"),
        ("7.0", {"oldest": 7.5}, "too old"),
        ("7.5", {"oldest": 7.5}, None),
        ("8.9", {"newest": 8.9}, None),
        ("12.0", {"oldest": 7.5}, None),
    ],
)
def test_gpus_that_a_build_fits(d2l, machine, built, capability, limits, words):
    machine(gpus=[H100 | {"compute_cap": capability}])
    built(**GPU_BUILD, **limits)
    problems = d2l.gpu_report().problems
    assert [words in problem for problem in problems] == ([True] if words else [])


@pytest.mark.shared
@pytest.mark.parametrize(
    "head, cuda, too_old",
    [
        (("580.95.05", "13.0"), "13.2", False),  # the minor version does not matter
        (("570.86.10", "12.8"), "13.0", True),
        (("570.86.10", "12.8"), "13", True),
        (("525.60.13", "12.0"), "12.8.1", False),
        (("470.82.01", "11.4"), "12.5.1", True),
        (("470.82.01", "12.2"), "12.5.1", False),  # with a package of compatibility
        (("470.82.01", "N/A"), "12.5.1", True),
        (("535.104.05", "N/A"), "12.5.1", False),
        (("535.104.05", "N/A"), "13", True),
        (("450.80.02", "N/A"), "11.7", False),
    ],
)
def test_drivers_that_a_build_needs(d2l, machine, built, head, cuda, too_old):
    machine(head=HEAD.format(*head))
    built(cuda=cuda, seen=[] if too_old else ["H100"])
    problems = d2l.gpu_report().problems
    if too_old:
        assert "too old" in only(problems) and head[0] in only(problems)
    else:
        assert problems == []


@pytest.mark.shared
@pytest.mark.parametrize(
    "head, remedy",
    [
        (("510.73.08", "11.6"), "a build for CUDA 11."),
        (("570.86.10", "12.8"), "a build for CUDA 12."),
        (("440.33.01", "10.2"), "a build for CUDA 10.2."),
        (("470.82.01", "N/A"), "a build for it."),
    ],
)
def test_an_old_driver_runs_any_build_with_its_major_version_of_cuda(
    d2l, machine, built, head, remedy
):
    machine(head=HEAD.format(*head))
    built(cuda="13.0", seen=[])
    assert only(d2l.gpu_report().problems).endswith(f"or install {remedy}")


# What hides GPUs


@pytest.mark.shared
@pytest.mark.parametrize(
    "setting, indices",
    [
        (None, [0, 1]),
        ("", []),
        ("-1", []),
        ("0", [0]),
        ("1,0", [1, 0]),
        (" 1 , 0 ", [1, 0]),
        ("0,-1,1", [0]),
        ("0,7", [0]),
        ("7,0", []),
        ("0,0", [0]),
        ("GPU-2222", [1]),
        ("GPU-22222222-aaaa-bbbb-cccc-000000000000,0", [1, 0]),
        ("GPU-", [0, 1]),
        ("GPU-9", []),
        ("NoDevFiles", []),
        ("MIG-33333333-aaaa-bbbb-cccc-000000000000", []),
    ],
)
def test_the_gpus_that_are_visible(d2l, setting, indices):
    gpus = [d2l.gpu_info(H100), d2l.gpu_info(SECOND)]
    assert [gpu.index for gpu in d2l.visible_gpus(gpus, setting)] == indices


@pytest.mark.shared
@pytest.mark.parametrize(
    "setting, problem",
    [
        ("", "leaves 0 of 2"),
        ("-1", "leaves 0 of 2"),
        ("0,2", "leaves 1 of 2"),
        ("1", None),  # as one does on purpose on a machine that is shared
        ("0,1", None),
    ],
)
def test_a_setting_that_hides_gpus(d2l, machine, built, monkeypatch, setting, problem):
    machine(gpus=[H100, SECOND])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", setting)
    gpus = [d2l.gpu_info(H100), d2l.gpu_info(SECOND)]
    built(cuda="13.0", seen=[gpu.name for gpu in d2l.visible_gpus(gpus, setting)])
    report = d2l.gpu_report()
    assert f"CUDA_VISIBLE_DEVICES={setting!r}" in str(report)
    if problem:
        assert problem in only(report.problems) and "Unset it" in only(report.problems)
    else:
        assert report.problems == []


@pytest.mark.shared
def test_a_setting_without_gpus_is_not_wrong(d2l, no_nvidia_smi, monkeypatch):
    monkeypatch.setattr(reports, "nvidia_cards", lambda: 0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert d2l.gpu_report().problems == []


@pytest.mark.shared
def test_a_setting_of_the_framework(d2l, machine, built):
    machine()
    built(cuda="13", kept_off="JAX_PLATFORMS=cpu")
    assert "JAX_PLATFORMS=cpu keeps" in only(d2l.gpu_report().problems)


@pytest.mark.shared
def test_gpus_that_are_not_seen_for_another_reason(d2l, machine, built):
    machine(gpus=[H100, SECOND])
    built(cuda="13.0", seen=["H100"], reason="one GPU is in exclusive mode")
    problem = only(d2l.gpu_report().problems)
    assert "sees 1 of 2" in problem and "exclusive mode" in problem


@pytest.mark.shared
@pytest.mark.parametrize("seen, wrong", [(["MIG 1g.10gb"], False), ([], True)])
def test_a_gpu_in_instances(d2l, machine, built, monkeypatch, seen, wrong):
    machine(gpus=[H100 | {"mig.mode.current": "Enabled"}, SECOND])
    monkeypatch.setenv(
        "CUDA_VISIBLE_DEVICES", "MIG-33333333-aaaa-bbbb-cccc-000000000000"
    )
    built(cuda="13.0", seen=seen)
    report = d2l.gpu_report()
    assert "divided (MIG)" in str(report)
    assert ["sees 0 of 1" in problem for problem in report.problems] == [True] * wrong


# Memory


HERE = f"{os.getpid()},"  # a line of nvidia-smi about this process


@pytest.mark.shared
@pytest.mark.parametrize(
    "free, apps, held, words",
    [
        ("2048", ["4711, 79000"], [], "process 4711 (79000 MiB)"),
        ("2048", ["4711, 40000", "4712, 39000"], [], "4711 (40000 MiB), process 4712"),
        ("2048", ["4711, [N/A]"], [], "process 4711 ([N/A] MiB)"),
        ("2048", [f"{HERE} 79000"], [], None),
        ("2048", [f"{HERE} 78000", "4711, 300"], [], None),
        ("2048", [f"{HERE} 8000", "4711, 70000"], [], "process 4711 (70000 MiB)"),
        ("2048", [f"{HERE} 8000"], [], "nvidia-smi does not show the process"),
        ("2048", [], [], "it may be this one"),
        ("80000", ["4711, 20000"], [], None),
        ("20000", [], [61000], None),  # a container hides process ids
        ("2048", ["4711, 70000"], [8000], "process 4711 (70000 MiB)"),
    ],
)
def test_memory_that_others_have_taken(d2l, machine, built, free, apps, held, words):
    apps = [f"{H100['uuid']}, {app}" for app in apps]
    machine(gpus=[H100 | {"memory.total": "143771", "memory.free": free}], apps=apps)
    built(**GPU_BUILD, held=held, used=[512 for _ in held])
    report = d2l.gpu_report()
    assert [words in problem for problem in report.problems] == [True] * bool(words)
    start = f"GPU 0 has {int(free) / 1024:.1f} of 140.4 GiB free. "
    assert all(problem.startswith(start) for problem in report.problems)
    if held == [61000]:
        assert "It holds   59.6 GiB, of which 0.5 GiB are in use" in str(report)


def test_memory_that_asking_the_framework_takes(d2l, machine, monkeypatch):
    info = d2l.FrameworkInfo("Framework 1.0", "pip install it", **GPU_BUILD)

    def framework_info(look=True):
        machine(gpus=[H100 | {"memory.free": "20000"}])
        info.held, info.used = [61000], [0]
        return info

    machine()
    monkeypatch.setattr(d2l, "framework_info", framework_info)
    report = d2l.gpu_report()
    assert report.gpus[0].free == 20000 and report.problems == []


@pytest.mark.shared
def test_memory_of_a_hidden_gpu_does_not_matter(d2l, machine, built, monkeypatch):
    machine(gpus=[H100, SECOND | {"memory.free": "100"}])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    built(**GPU_BUILD)
    assert d2l.gpu_report().problems == []


# The report as a text


@pytest.mark.shared
def test_lines_of_the_report_fit(d2l, machine):
    machine(says=NO_DRIVER, status=9)
    lines = str(d2l.gpu_report()).splitlines()
    assert max(map(len, lines)) <= 72
    assert all(line[:11].strip() or line[:11] == " " * 11 for line in lines)


@pytest.mark.shared
def test_all_problems_at_once(d2l, machine, built, monkeypatch):
    machine(
        gpus=[H100 | {"memory.free": "1000"}], head=HEAD.format("470.82.01", "11.4")
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    built(cuda="12.8", newest=8.9, kept_off="a setting")
    report = d2l.gpu_report()
    found = [p.split()[0] for p in report.problems]
    assert found == ["GPU", "The", "CUDA_VISIBLE_DEVICES='0,1'", "a", "GPU"]
    assert [f"Problem {i}" in str(report) for i in range(1, 7)] == [True] * 5 + [False]


# What the frameworks report


def test_the_framework_that_is_here(d2l, fw, cpu_build):
    info = d2l.framework_info()
    version = importlib.import_module(fw.package).__version__
    assert info.name.lower() == f"{fw.tab} {version}".lower()
    assert info.cuda == info.cudnn == "" and info.seen == [] and info.kept_off == ""
    assert d2l.framework_info(look=False).reason == ""


def install(tmp_path, monkeypatch, **packages):
    """Let Python find packages, which hold nothing but their names and versions."""
    for name, version in packages.items():
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        name = name.replace("_", "-")
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (folder / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)


# Packages of GPU builds, and what is known of these builds.
BUILDS: dict = {
    "jax": [
        ({"jax_cuda12_plugin": "0.10.2", "nvidia_cudnn_cu12": "9.19.0"},
         {"cuda": "12", "cudnn": "9.19.0", "oldest": 5.2}),
        ({"jax_cuda13_plugin": "0.10.2", "nvidia_cudnn_cu13": "9.19.0"},
         {"cuda": "13", "cudnn": "9.19.0", "oldest": 7.5}),
    ],
    "mxnet": [
        ({"mxnet_cu117": "1.9.1"}, {"cuda": "11.7"}),
        ({"mxnet_cu92": "1.9.1"}, {"cuda": "9.2"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("i", [0, 1])
def test_gpu_builds_that_packages_make(d2l, fw, tmp_path, monkeypatch, i):
    if fw.tab in BUILDS:
        packages, known = BUILDS[fw.tab][i]
        install(tmp_path, monkeypatch, **packages)
        info = d2l.framework_info()
        assert {name: getattr(info, name) for name in known} == known
        assert fw.tab == "mxnet" or "gpu" in info.reason


# As JAX reports them: some versions have no pool, and some allocators no answer.
STATS = {"bytes_in_use": 2**29, "peak_bytes_in_use": 2**30, "bytes_limit": 60 * 2**30}


@pytest.mark.parametrize(
    "stats, held, used",
    [
        (STATS, 60 * 1024, 512),
        (STATS | {"pool_bytes": 2**31}, 2048, 512),
        (None, 0, 0),
    ],
)
def test_memory_that_jax_holds(d2l, fw, monkeypatch, stats, held, used):
    if fw.tab != "jax":
        pytest.skip("of JAX")
    device = SimpleNamespace(device_kind="NVIDIA H100", memory_stats=lambda: stats)
    monkeypatch.setattr(d2l.jax, "local_devices", lambda backend: [device])
    info = d2l.framework_info()
    assert (info.seen, info.held, info.used) == (["NVIDIA H100"], [held], [used])


def test_memory_that_pytorch_holds(d2l, fw, monkeypatch):
    if fw.tab != "pytorch":
        pytest.skip("of PyTorch")
    answers = {
        "init": lambda: None,
        "device_count": lambda: 2,
        "get_device_name": lambda i: f"GPU {i}",
        "memory_reserved": lambda i: (i + 2) * 2**20,
        "memory_allocated": lambda i: (i + 1) * 2**20,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(d2l.torch.cuda, name, answer)
    info = d2l.framework_info()
    assert (info.seen, info.held, info.used) == (["GPU 0", "GPU 1"], [2, 3], [1, 2])


def test_jax_without_a_cpu_and_without_a_gpu(fw, tmp_path, cpu_build):
    if fw.tab != "jax":
        pytest.skip("of JAX")
    status, printed, errors = run("jax", PATH=str(tmp_path), JAX_PLATFORMS="cuda")
    assert (status, errors) == (1, [])
    words = " ".join(printed.split())
    assert "JAX_PLATFORMS=cuda leaves JAX no device" in words
    assert "Set JAX_PLATFORMS=cuda,cpu." in words
    status, printed, errors = run("jax", PATH=str(tmp_path), JAX_PLATFORMS="cuda,cpu")
    assert (status, errors) == (0, []) and "no NVIDIA GPU was found" in printed


@pytest.mark.parametrize(
    "names, oldest, newest",
    [
        ([], None, None),
        (["sm_75", "sm_80", "sm_90", "sm_120"], 7.5, 12.9),
        (["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"], 6.0, None),
        (["sm_50", "sm_90a"], 5.0, 9.9),
    ],
)
def test_the_gpus_of_a_build(d2l, fw, names, oldest, newest):
    if fw.tab not in ("pytorch", "tensorflow"):
        pytest.skip("of PyTorch and TensorFlow")
    found = reports.capability_range(names)
    assert (found["oldest"], found["newest"]) == (oldest, newest)


# python -m d2l


def run(*arguments, **env):
    """Run `python -m d2l`; return its exit status, its output and its error lines."""
    result = subprocess.run(
        [sys.executable, "-m", "d2l", *arguments],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )
    errors = [line for line in result.stderr.splitlines() if line.startswith("error:")]
    return result.returncode, result.stdout, errors


def test_command_on_a_machine_with_a_problem(fw, machine, cpu_build):
    machine(gpus=[A100])
    status, printed, errors = run(CUDA_VISIBLE_DEVICES="")
    assert status == 1 and errors == []
    assert "A100" in printed and "a CPU build" in printed
    assert "CUDA_VISIBLE_DEVICES='' leaves 0 of 1 GPU(s)" in " ".join(printed.split())


def test_command_on_a_machine_without_a_gpu(fw, tmp_path):
    if Path("/sys/bus/pci/devices").exists() and reports.nvidia_cards():
        pytest.skip("there is a card")
    status, printed, errors = run(fw.tab, PATH=str(tmp_path))
    assert (status, errors) == (0, []) and "no NVIDIA GPU was found" in printed


def test_command_with_the_name_of_a_module(fw):
    """`python -m d2l torch` is about d2l.torch, whose framework is PyTorch."""
    module = fw.d2l.__name__.removeprefix("d2l.")
    assert run(module, fw.tab) == run(fw.tab)


def test_command_with_an_unknown_framework():
    status, printed, errors = run("pytorhc")
    assert status == 2 and printed == "" and "'pytorhc'" in only(errors)


def test_command_with_a_framework_that_is_not_here(fw):
    other = "jax" if fw.tab != "jax" else "mxnet"
    status, printed, errors = run(other)
    assert status == 1 and printed == ""
    assert other in only(errors) and "not installed" in only(errors)


@pytest.mark.parametrize("name", ["pytorch", "torch", "mxnet", "jax", "tensorflow"])
def test_command_knows_every_framework(monkeypatch, capsys, name):
    asked: list[str] = []
    monkeypatch.setattr(importlib.util, "find_spec", asked.append)
    assert command.main([name]) == 1
    assert asked == ["torch", "mxnet", "jax", "tensorflow"]
    assert "is not installed" in capsys.readouterr().err


def test_command_beside_another_books_library(fw, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, d2l="1.0.3")
    status, printed, errors = run(fw.tab, PYTHONPATH=str(tmp_path))
    assert status == 1 and "Framework  " in printed
    assert f"package d2l 1.0.3 is installed in {tmp_path}" in only(errors)


@pytest.mark.parametrize(
    "code, words",
    [
        (
            "raise OSError('libcudnn.so.8: cannot open\\nshared object file')",
            "libcudnn.so.8: cannot open shared object file",
        ),
        ("import os; os.abort()", "no report"),
    ],
)
def test_command_with_a_framework_that_is_broken(fw, tmp_path, code, words):
    (tmp_path / fw.package).mkdir()
    (tmp_path / fw.package / "__init__.py").write_text(code)
    status, printed, errors = run(fw.tab, PYTHONPATH=str(tmp_path))
    assert status == 1 and printed == "" and words in only(errors)


def test_command_without_frameworks():
    code = "import sys; sys.path.insert(0, '.'); from d2l import __main__ as m; "
    code += "sys.exit(m.main([]))"
    run_alone = [sys.executable, "-S", "-c", code]
    result = subprocess.run(run_alone, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.startswith("error: install one of")
    assert result.stderr.count("\n") == 1
