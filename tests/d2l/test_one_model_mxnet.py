"""ResNet-18, which goes through the book: what only MXNet has to settle first."""

import json
import subprocess

from test_one_model import CONVOLUTIONS

CODE = """
import json

d2l = fw.d2l
print(json.dumps([d2l.resnet18_activations(twice) for twice in (False, True)]))
"""


def test_a_fresh_process_counts_activations_and_no_growing_workspace(fw):
    with fw.start(CODE, stdout=subprocess.PIPE) as child:
        plain, twice = json.loads(child.communicate()[0].splitlines()[-1])
    first, *others = (4 * 128 * o * w * w for _, o, _, w in CONVOLUTIONS)
    # A normalization, and often an activation, follow each convolution. Only the first
    # one is outside of the blocks, of which a step with checkpointing keeps the inputs.
    assert 2 < plain / (first + sum(others)) < 3
    assert 2 < twice / first < plain / first / 2
