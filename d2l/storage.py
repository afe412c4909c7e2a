"""Checks of a checkpoint, and as JSON what it contains besides its arrays."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

DIGESTS = "SHA256SUMS"  # the command `sha256sum --check SHA256SUMS` reads it, too
READY = ".sha256"  # behind the name of a file whose digest its writer has computed
LISTED = re.compile(r"(?P<digest>[0-9a-f]{64})  (?P<name>[^ ]+)")


class WrongCheckpoint(ValueError):
    """A checkpoint belongs to another run."""


def check_shapes(saved: dict, own: dict, path: Path) -> None:
    """Raise WrongCheckpoint unless a checkpoint and a model have the same arrays.

    `saved` and `own` map names to shapes.
    """
    for name in sorted({*saved, *own}):
        there, here = saved.get(name, "missing"), own.get(name, "missing")
        if there != here:
            raise WrongCheckpoint(
                f"{path} is a checkpoint of another model: the shape of {name} "
                f"is {there} in the checkpoint and {here} in the model; "
                "resume with the same model, or choose another folder"
            )


def run_arguments(trainer: Any) -> dict[str, Any]:
    """Return the plain arguments of a model and of its trainer."""
    model = trainer.model
    arguments = {
        f"model.{name}": value
        for name, value in getattr(model, "hparams", vars(model)).items()
        if name != "training"  # a mode, which the trainer sets in JAX
    }
    for name in "accumulate", "gradient_clip_val":
        arguments[name] = getattr(trainer, name)
    arguments["precision"] = str(trainer.precision)
    return {k: v for k, v in arguments.items() if isinstance(v, (int, float, str))}


def check_run(
    progress: dict[str, Any], trainer: Any, path: Path, optimizer: str | None = None
) -> None:
    """Raise WrongCheckpoint unless a checkpoint fits a run; warn of changes.

    `optimizer` is the kind of an optimizer whose own arguments the checkpoint restores.
    """
    for name, own in (
        ("optimizer", optimizer),
        ("num_train_batches", trainer.num_train_batches),
    ):
        if progress.get(name) != own:
            raise WrongCheckpoint(
                f"{path} was saved with {name} {progress[name]}, and this run "
                f"has {own}; resume with the same, or choose another folder"
            )
    for name, own in run_arguments(trainer).items():
        saved = progress["arguments"].get(name, own)
        if saved != own:
            what = "the new value counts"
            if optimizer and name.startswith("model."):
                what += ", except for what the optimizer has saved"
            warnings.warn(
                f"{path} was saved with {name}={saved}, and this run has {own}; {what}",
                stacklevel=2,
            )


def warn_if_over(run: Any, path: Path) -> None:
    """Warn if a checkpoint comes after the last epoch of a run."""
    last = run.trainer.max_epochs
    if (run.trainer.epoch, run.position) > (last, 0):
        warnings.warn(
            f"{path} comes from a later epoch than max_epochs={last}, "
            "so nothing is left to train",
            stacklevel=2,
        )


def make_folder(folder: str | Path) -> None:
    """Make a folder unless it exists; raise ValueError if this is impossible."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"checkpoint_dir={str(folder)!r} cannot be made: "
            f"{error.strerror}; choose another folder"
        ) from None


lock_files: set = set()  # those that this process has open


def close_lock_files() -> None:
    """Leave the locks of the parent to it alone, in a new child process."""
    for file in lock_files:
        file.close()


os.register_at_fork(after_in_child=close_lock_files)


@contextlib.contextmanager
def locked(folder: str | Path | None, rank: int = 0) -> Iterator[None]:
    """Keep other jobs out of a folder of checkpoints, in a `with` block.

    Rank 0 locks the folder for all ranks of a job. Raises ValueError if another job
    trains in the folder.
    """
    if not folder or rank:
        yield
        return
    with open(Path(folder, "lock"), "w") as file:
        # A lock of `lockf` would end as soon as this process closes any other handle
        # of the file, as a copy of the folder does.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # any other: the file system has no locks
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise ValueError(
                    f"another job trains in {folder}; end it, or choose another folder"
                ) from None
        lock_files.add(file)
        try:
            yield
        finally:
            lock_files.remove(file)


@contextlib.contextmanager
def checkpointing(trainer: Any, folder: str | Path | None) -> Iterator[None]:
    """Continue from the newest checkpoint of a folder, in a `with` block that trains.

    Locks the folder before it reads, and waits for the last save at the end.
    """
    trainer.checkpoints = None
    if not folder:
        yield
        return
    make_folder(folder)
    with locked(folder, trainer.ranks.rank):
        trainer.checkpoints = trainer.checkpoint_class(trainer, folder)
        try:
            yield
        except BaseException as error:
            try:  # another rank may never finish its part
                trainer.checkpoints.wait(getattr(trainer, "timeout", 600))
            except Exception as unsaved:  # the first error counts
                error.add_note(f"the last checkpoint is not saved: {unsaved}")
            raise
        trainer.checkpoints.wait()


def in_thread(act: Callable[[], Any]) -> Future:
    """Return the future of a call in a thread, for which the end of Python waits."""
    executor = ThreadPoolExecutor(1)
    future = executor.submit(act)
    executor.shutdown(wait=False)
    return future


def wait_for_save(save: Future, draft: Path, limit: float | None = None) -> None:
    """Wait until a save is over; raise TimeoutError if it is not in `limit` seconds."""
    if not wait([save], limit).done:
        raise TimeoutError(f"{draft} is not complete after {limit:g} seconds")


def digest(file: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal digits."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


class CannotWrite(OSError):
    """A checkpoint cannot be written."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn any error of a `with` block, such as a full disk, into one line.

    The draft at `path` is then deleted, because it would keep the disk full.
    """
    try:
        yield
    except CannotWrite:
        raise
    except Exception as error:
        error = disk_error(error)
        gone = [folder for folder in (path.parent, path) if not folder.exists()]
        reason = f"{type(error).__name__}: {error}".splitlines()[-1]
        if gone:
            state = f"the folder {gone[0]} has been removed"
        else:
            free = shutil.disk_usage(path.parent).free / 2**20
            state = f"{free:,.0f} MiB of its disk are free"
        if path.suffix == ".draft":
            shutil.rmtree(path, ignore_errors=True)
        raise CannotWrite(
            f"{path} cannot be written ({reason[-160:]}); {state}"
        ) from error


def disk_error(error: Exception) -> Exception:
    """Return the error of the system from which another one follows, or that one."""
    cause: Any = error
    while cause and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause or error


class HashedFile:
    """A file that computes the digest of what is written into it."""

    def __init__(self, file: Any):
        self.file, self.sha = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes, and return their number."""
        self.sha.update(data)
        return self.file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@contextlib.contextmanager
def hashed(path: Path) -> Iterator[HashedFile]:
    """Open a file for writing; leave its digest in another one for `write_digests`.

    Raises the OSError if the disk fails, even if another error follows from it.
    """
    try:
        with open(path, "wb") as content:
            file = HashedFile(content)
            yield file
    except Exception as error:
        raise disk_error(error) from None
    path.with_name(path.name + READY).write_text(file.sha.hexdigest())


def write_progress(packed: Any, draft: Path) -> None:
    """Write what `pack` returned into a file of a draft."""
    with writing(draft):
        (draft / "progress.json").write_text(json.dumps(packed))


def file_names(folder: Path) -> list[str]:
    """Return the paths of all files in a folder except SHA256SUMS, sorted."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted({f"{path.relative_to(folder)}" for path in files} - {DIGESTS})


def write_digests(folder: Path) -> None:
    """Write the digests of all files in a folder into the file SHA256SUMS.

    Reads only the files whose digests no rank has computed while it wrote them.
    """
    lines = []
    for name in file_names(folder):
        ready = folder / f"{name}{READY}"
        if not name.endswith(READY):
            known = ready.read_text() if ready.exists() else digest(folder / name)
            lines.append(f"{known}  {name}\n")
    with writing(folder):
        (folder / DIGESTS).write_text("".join(lines))
        for ready in folder.rglob(f"*{READY}"):
            ready.unlink()


def damage_of(
    folder: Path, framework: str, needed: str, rank: int = 0, size: int = 1
) -> str:
    """Return which file of a checkpoint is missing or damaged, or an empty text.

    Each checkpoint of `framework` has the file or folder `needed`. A rank of several
    checks the digests of its share of the files, and rank 0 that all are listed.
    """
    text = ""
    try:
        text = (folder / DIGESTS).read_text(errors="replace")
    except FileNotFoundError:
        pass  # then no file is listed
    except OSError as error:
        return f"the file {DIGESTS} is unreadable: {error.strerror}"
    lines = [LISTED.fullmatch(line) for line in text.splitlines()]
    if not all(lines):
        return f"the file {DIGESTS} is damaged"
    digests = {line["name"]: line["digest"] for line in lines if line}
    for name in [*digests][rank::size]:
        if not (folder / name).is_file():
            return f"the file {name} is missing or damaged"
        try:
            if digest(folder / name) != digests[name]:
                return f"the file {name} is not as it was saved"
        except OSError as error:  # of the disk, for example
            return f"the file {name} is unreadable: {error.strerror}"
    if rank > 0:
        return ""
    if unlisted := set(file_names(folder)) - digests.keys():
        if not text:
            return f"the file {DIGESTS} is missing or empty"
        return f"the file {min(unlisted)} is not listed in {DIGESTS}"
    return "" if (folder / needed).exists() else f"not a checkpoint of {framework}"


def named_callbacks(trainer: Any) -> dict[str, Any]:
    """Return the callbacks of a trainer by the names of their classes, numbered."""
    names = [type(callback).__name__ for callback in trainer.callbacks]
    return {
        f"{name} {names[:i].count(name) + 1}": callback
        for i, (name, callback) in enumerate(zip(names, trainer.callbacks, strict=True))
    }


def callback_states(trainer: Any) -> dict[str, Any]:
    """Return the states of the callbacks of a trainer by name.

    The state is what the method `state_dict` returns, or the attributes of a callback
    without this method. Raises TypeError if an attribute cannot be restored.
    """
    states: dict[str, Any] = {}
    for name, callback in named_callbacks(trainer).items():
        if hasattr(callback, "load_state_dict"):
            states[name] = callback.state_dict()
            continue
        states[name], arrays = vars(callback), dict[str, Any]()
        with contextlib.suppress(TypeError):
            pack(states[name], arrays)
            if not arrays:
                continue
        raise TypeError(
            f"no checkpoint can restore the callback {type(callback).__name__}; give "
            "it the methods state_dict and load_state_dict"
        )
    return states


def restore_callbacks(trainer: Any, states: dict[str, Any]) -> None:
    """Restore the states of callbacks; warn of states whose callback is missing."""
    callbacks = named_callbacks(trainer)
    for name, state in states.items():
        if name not in callbacks:
            if state:
                warnings.warn(
                    f"the checkpoint has the state of the callback {name}, and this "
                    "run has no such callback",
                    stacklevel=2,
                )
        elif hasattr(callbacks[name], "load_state_dict"):
            callbacks[name].load_state_dict(state)
        else:
            vars(callbacks[name]).update(state)


def pack(value: Any, arrays: dict[str, Any] | None = None) -> Any:
    """Return a value as data for JSON; arrays of the framework go to `arrays`.

    Without `arrays`, they become arrays of NumPy. Raises TypeError unless the value
    consists of numbers, strings, arrays, lists, tuples and dicts.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [pack(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {
            "dict": [[pack(key), pack(item, arrays)] for key, item in value.items()]
        }
    if not hasattr(value, "dtype"):
        raise TypeError(
            f"a checkpoint cannot restore {value!r:.60}; keep numbers, "
            "strings, arrays, lists, tuples and dicts"
        )
    if arrays is None or isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return {"numpy": [array.dtype.name, array.tolist()]}
    name = f"progress.{len(arrays)}"
    arrays[name] = value
    return {"array": name}


def unpack(value: Any, arrays: dict[str, Any] | None = None) -> Any:
    """Return the value that `pack` has packed."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {unpack(key): unpack(item, arrays) for key, item in content}
    if kind == "numpy":
        return np.array(content[1], content[0])
    if kind == "array":
        return (arrays or {})[content]
    items = [unpack(item, arrays) for item in content]
    return items if kind == "list" else tuple(items)
