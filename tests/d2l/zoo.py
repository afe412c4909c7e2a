"""An entry of the zoo: a model that was not written for this library."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# What the state of a model is after training on two devices.
SAME = "that of one device"
OTHER = "another one, because the loss or the state depends on the whole minibatch"
UNSHARED = "another one in each rank, with a warning"
REFUSED = "none, because the devices cannot share the model"


@dataclass(frozen=True)
class Entry:
    """A model, its minibatches, and what cannot work with it.

    `model()` returns a new model, and `batches()` the same minibatches each time.
    """

    name: str
    model: Callable[[], Any]
    batches: Callable[[], list]
    devices: str = SAME  # the state after training on two of them
    clip: bool = True  # whether the framework can clip the gradients
    half: bool = True  # whether the trainer can train it in float16
    restored: bool = True  # whether a checkpoint gets all of it
    returned: bool = True  # whether the caller of ranks gets all of it
    settings: tuple = ()  # of the trainer on two devices, as pairs
    # What the library does wrong: pairs of a part of a test's name and a reason.
    faults: tuple[tuple[str, str], ...] = ()
    thin: bool = False  # whether `make test` tries it

    def reasons(self, test: str) -> list[str]:
        """Return the reasons why the library fails a test with this name."""
        return [reason for part, reason in self.faults if part in test]
