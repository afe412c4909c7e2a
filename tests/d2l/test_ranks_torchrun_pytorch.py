"""A job under the chapter's `torchrun` command survives the deaths of its ranks."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import torch
from frameworks import ROOT

from d2l import torch as d2l
from d2l.launcher import free_ports

RESTARTS = 10
JOB = """
import os, random, signal, sys
from pathlib import Path
import torch
from d2l import torch as d2l

folder, deaths = Path(sys.argv[1]), int(sys.argv[2])

class Mortal(d2l.Callback):
    def before_step(self, trainer, batch):
        died = folder / f'{trainer.train_batch_idx}'
        victim = random.Random(trainer.train_batch_idx).randrange(2)
        if trainer.train_batch_idx in range(1, 3 * deaths, 3) and not died.exists():
            trainer.ranks.wait()  # both ranks have seen that none has died here
            if trainer.ranks.rank == victim:
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)

torch.set_num_threads(1)
torch.manual_seed(0)
model = d2l.MLP(10, 16, 0.1)
trainer = d2l.Trainer(2, save_every=2, callbacks=[Mortal()])
model.board.display = False
trainer.fit(model, d2l.Digits(), checkpoint_dir=folder)
if trainer.ranks.rank == 0:
    torch.save(model.state_dict(), folder / 'end.pt')
os._exit(0)
"""


def command(*changes: tuple[str, str]) -> str:
    """Return the command of the chapter, with some of its arguments changed."""
    text = (ROOT / "chapter_gpus/many-machines.md").read_text()
    found = re.search(r"```bash\n([^`]*torchrun [^`]*)```", text)
    assert found
    line = found[1].replace("\\\n", " ")
    run = f"{shlex.quote(sys.executable)} -m torch.distributed.run"
    for old, new in (
        ("torchrun", run),
        ("--max-restarts=3", "--max-restarts=10"),
        *changes,
    ):
        assert old in line, old
        line = line.replace(old, new)
    return line


def end_of_job(folder: Path, line: str, deaths: int) -> dict:
    """Return the parameters of a job after its end."""
    folder.mkdir()
    script = folder / "job.py"
    script.write_text(JOB)
    line = line.replace("train.py", f"{script} {folder} {deaths}")
    settings = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    started = [
        subprocess.Popen(
            "exec env " + line,
            shell=True,
            env=os.environ | settings,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        errors = [agent.communicate(timeout=900)[1] for agent in started]
    finally:
        for agent in started:
            if agent.poll() is None:
                agent.terminate()  # it ends its ranks
                agent.wait()
    assert [agent.returncode for agent in started] == [0, 0], errors
    assert len([path for path in folder.iterdir() if path.name.isdigit()]) == deaths
    return torch.load(folder / "end.pt")


def test_a_job_on_two_machines_ends_as_if_no_rank_had_died(tmp_path):
    address = f"127.0.0.1:{free_ports(1)[0]}"
    line = command(("per-node=8", "per-node=1"), ("10.0.0.1:29500", address))
    undisturbed = end_of_job(tmp_path / "undisturbed", line, deaths=0)
    disturbed = end_of_job(tmp_path / "disturbed", line, RESTARTS)
    torch.manual_seed(0)
    alone = d2l.MLP(10, 16, 0.1)
    d2l.Trainer(2).fit(alone, d2l.Digits())
    for name, parameter in undisturbed.items():
        assert torch.equal(parameter, disturbed[name]), name
        assert torch.allclose(parameter, alone.state_dict()[name], atol=1e-5), name
