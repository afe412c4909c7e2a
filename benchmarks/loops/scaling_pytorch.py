"""Times all-reduces and training steps on several GPUs, for `benchmarks.scaling`.

The argument is a JSON object: the number of GPUs, the rounds, and the sizes of the
model and of the minibatches. With "virtual", CPU ranks take the place of GPUs; their
times say nothing about GPUs and are only good for a test of this file.
"""

import copy
import json
import statistics
import sys
import time
from typing import Any

import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from d2l import torch as d2l

SIZES = [2**k for k in range(12, 29, 2)]  # of the all-reduces, in bytes


def own_device() -> torch.device:
    """Return the GPU of this rank, or the CPU if there are not enough GPUs."""
    enough = d2l.num_gpus() >= dist.get_world_size()
    return d2l.gpu(dist.get_rank()) if enough else d2l.cpu()


def time_all_reduces(sizes: list[int]) -> list[float]:
    """Return the shortest seconds of an all-reduce of each size."""
    device = own_device()
    arrays = (torch.ones(size // 4, device=device) for size in sizes)
    return [d2l.time_call(dist.all_reduce, array) for array in arrays]


def time_steps(width: int, depth: int, share: int, rounds: int) -> float:
    """Return the median seconds of a training step on `share` examples per rank."""
    device = own_device()
    torch.manual_seed(0)
    net: Any = nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))
    net = net.to(device)
    if dist.get_world_size() > 1:
        net = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    X = torch.randn(share, width, device=device)
    times = []
    for _ in range(rounds + 3):  # the first three warm up
        d2l.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        net(X).square().mean().backward()
        optimizer.step()
        d2l.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times[3:])


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Return the times of the all-reduces and of the steps, by number of GPUs."""
    n, sizes = job["gpus"], [size for size in SIZES if size <= job["largest"]]
    counts = [2**k for k in range(n.bit_length()) if 2**k < n] + [n]
    model = job["width"], job["depth"]
    steps: dict[str, dict[int, float]] = {"weak": {}, "strong": {}}
    for count in counts:
        for scaling, parts in (("weak", 1), ("strong", count)):
            job_of_rank = (*model, job["examples"] // parts, job["rounds"])
            times = d2l.launch(time_steps, count, *job_of_rank, timeout=600)
            steps[scaling][count] = max(times)
    alone = [job["examples"] // count for count in counts]
    shares = [d2l.launch(time_steps, 1, *model, e, job["rounds"])[0] for e in alone]
    reduces = d2l.launch(time_all_reduces, n, sizes, timeout=600)
    return {
        "name": torch.cuda.get_device_name(0) if d2l.num_gpus() else "CPU",
        "versions": f"torch {torch.__version__}",
        "nbytes": 4 * model[1] * (model[0] ** 2 + model[0]),
        "sizes": sizes,
        "all_reduces": [max(times) for times in zip(*reduces, strict=True)],
        "steps": steps,
        "shares": dict(zip(counts, shares, strict=True)),
    }


def main() -> None:
    """Print the measurements as JSON, or the number of GPUs if there are too few."""
    job = json.loads(sys.argv[1])
    job["gpus"] = job["gpus"] or max(2, d2l.num_gpus())
    if d2l.num_gpus() < job["gpus"] and not job.get("virtual"):
        print(json.dumps({"found": d2l.num_gpus(), "gpus": job["gpus"]}))
        return
    print(json.dumps(measure(copy.deepcopy(job)) | {"gpus": job["gpus"]}))


if __name__ == "__main__":
    main()
