"""What the tests have to say differently in each framework."""

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import numpy


HERE = Path(__file__).parent
ROOT = HERE.parents[1]
USE = "from frameworks import FRAMEWORKS\nfw = FRAMEWORKS[{!r}]()\nfw.prepare()\n"


@dataclass
class Case:
    """A model, its data, and what one of its curves must reach."""

    name: str
    model: Callable[[], Any]
    data: Callable[[], Any]
    curve: str
    bound: float  # at least, for an accuracy; at most, for all others
    epochs: int = 3

    def reached(self, value: float) -> bool:
        """Whether `value` is as good as `bound`."""
        return value >= self.bound if "acc" in self.curve else value <= self.bound


def named_layers(layers: tuple) -> list[tuple]:
    """Return layers that `Framework.model` describes as names with arguments."""
    names = {int: "dense", float: "dropout"}
    pairs = [(names.get(type(layer)), layer) for layer in layers]
    pairs = [(name, x) if name else x for name, x in pairs]
    return [(layer,) if isinstance(layer, str) else layer for layer in pairs]


class Framework:
    """One framework: its library, its second device, a few of its verbs."""

    tab: str
    package: str
    module: str
    case_gpus: tuple[int, ...] = (0, 1)  # how many GPUs to run each of the cases with
    short_types: tuple[str, ...] = ("bfloat16", "float16")  # to train in on a CPU
    memory_error = 0.05  # of a prediction by role, at most
    rounding_error = 0.05  # of a loss after training in 16 bits, at most
    saving_reseeds = False  # whether a checkpoint gives the generator another seed

    def __reduce__(self) -> tuple:
        """Let a rank have the framework of its launcher."""
        return type(self), ()

    def prepare(self) -> None:
        """Make the virtual devices of this process."""

    def free_programs(self) -> None:
        """Free the compiled programs that this process keeps."""

    @cached_property
    def second(self) -> Any:
        """Another device than the CPU, which takes the place of a GPU."""
        raise NotImplementedError

    @property
    def elsewhere(self) -> Any:
        """A device other than the CPU; without a GPU, one that may hold no data."""
        return self.second

    @cached_property
    def d2l(self) -> ModuleType:
        return importlib.import_module(f"d2l.{self.module}")

    @cached_property
    def models(self) -> Any:
        """The models of the tests: their names are the same in each framework."""
        return importlib.import_module(f"models_{self.tab}")

    @cached_property
    def zoo(self) -> Any:
        """The models that were not written for this library."""
        return importlib.import_module(f"zoo_{self.tab}")

    def cases(self) -> list[Case]:
        """Return the models written in the style of d2l 1.0."""
        return self.models.CASES

    def model(self, *layers: Any, optimizer: str = "adam", lr: float = 0.01) -> Any:
        """Return a classifier of layers, without a picture of its curves.

        A layer is the width of a dense one, the probability of a dropout layer, or a
        name, with arguments in a tuple: "relu", "norm", "pool", "flatten", ("conv",
        channels), ("transformer", width, heads), and first ("embed", number, width),
        whose weights the last one may share, "tied". The optimizer is "adam" or "sgd".
        """
        model = self.models.Layers(layers, optimizer, lr)
        model.board.display = False
        return model

    def start(self, code: str, *args: Any, **options: Any) -> subprocess.Popen:
        """Start a program that uses this framework as `fw`."""
        path = os.pathsep.join([str(ROOT), str(HERE)])
        environment = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"}
        command = [sys.executable, "-W", "ignore", "-c", USE.format(self.tab) + code]
        return subprocess.Popen(
            [*command, *map(str, args)], env=environment, text=True, **options
        )

    def pretend(self, monkeypatch: pytest.MonkeyPatch, *devices: Any) -> None:
        """Let the library take `devices` for its GPUs."""
        monkeypatch.setattr(self.d2l, "gpu", lambda i=0: devices[i])
        monkeypatch.setattr(self.d2l, "num_gpus", lambda: len(devices))

    def seed(self, n: int) -> None:
        """Seed all random numbers."""
        import numpy

        numpy.random.seed(n)

    def fit(self, trainer: Any, model: Any, data: Any, **options: Any) -> None:
        """Train, from the same random numbers on each call."""
        trainer.fit(model, data, **options)

    def build(self, model: Any, X: Any) -> None:
        """Let the layers make their parameters."""
        model(X)

    def outputs(self, trainer: Any, X: Any) -> Any:
        """Return the outputs of the model that `trainer` has trained."""
        return trainer.model(X)

    def tensor(self, values: Any, dtype: str = "float32") -> Any:
        raise NotImplementedError

    @property
    def functions(self) -> Any:
        """The module of the framework's functions and types of arrays."""
        raise NotImplementedError

    def dtype(self, name: str) -> Any:
        """Return a type of numbers, such as "float16"."""
        return getattr(self.functions, name)

    def numpy(self, x: Any) -> "numpy.ndarray":
        """Return a copy of a tensor."""
        return self.d2l.numpy(x).copy()

    def judge(self, what: str, Y_hat: Any, Y: Any, averaged: bool = True) -> Any:
        """Return the loss or accuracy, as `what` says, of a classifier's outputs."""
        model = self.d2l.Classifier()
        return self.numpy(getattr(model, what)(Y_hat, Y, averaged))

    def device(self, x: Any) -> Any:
        """Return where a tensor is, comparable with `second`."""
        return x.device

    def params(self, trainer: Any) -> list:
        """Return the tensors that the trainer trains."""
        raise NotImplementedError

    def opt_state(self, trainer: Any) -> list:
        """Return the tensors that the optimizer keeps beside the parameters."""
        raise NotImplementedError

    def arrays(self, model: Any) -> list:
        """Return all tensors of a model."""
        raise NotImplementedError

    def state(self, trainer: Any) -> list:
        """Return all tensors of the trained model and of its optimizer."""
        return [*self.arrays(trainer.model), *self.opt_state(trainer)]

    def gradients(self, function: Callable, *arrays: Any) -> list:
        """Return the scalar that a function computes, and its gradients."""
        raise NotImplementedError

    def operations(self, model: Any, X: Any) -> tuple[list, list]:
        """Return the operations of a forward pass, and those of a step without update.

        The step computes the gradient of the mean square of the outputs.
        """
        raise NotImplementedError

    def phase(self, name: str) -> AbstractContextManager:
        """Mark a phase of a program for the profiler, in a `with` block."""
        raise NotImplementedError

    def training(self, model: Any) -> bool:
        """Return whether a model is in training mode."""
        return model.training

    def loss_scale(self, trainer: Any) -> float:
        """Return the factor of losses in float16, which an overflow lowers."""
        raise NotImplementedError

    def statistics(self, trainer: Any) -> list:
        """Return the means and variances of the layers that normalize."""
        raise NotImplementedError

    def rank(self) -> int:
        """Return the number of this process in its group."""
        raise NotImplementedError

    def add_up(self, value: float) -> float:
        """Return the sum of the values of all ranks; wait for them."""
        raise NotImplementedError

    def count_fetches(self, monkeypatch: pytest.MonkeyPatch) -> list:
        """Return a list that grows whenever a single float leaves its device."""
        raise NotImplementedError


def spy(monkeypatch: pytest.MonkeyPatch, cls: type, names: str, calls: list) -> None:
    """Let the methods `names` of `cls` add to `calls`, if they fetch one float."""
    depth = [0]

    def wrap(name: str, method: Callable) -> Callable:
        def spied(self, *args, **kwargs):
            if depth[0] == 0 and self.shape == () and "float" in str(self.dtype):
                calls.append(name)
            depth[0] += 1
            try:
                return method(self, *args, **kwargs)
            finally:
                depth[0] -= 1

        return spied

    for name in names.split():
        monkeypatch.setattr(cls, name, wrap(name, getattr(cls, name)))


class PyTorch(Framework):
    """One CPU device only; the GPU of the tests is the CPU by another name."""

    tab, package, module = "pytorch", "torch", "torch"
    memory_error = 0.02

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def prepare(self) -> None:
        self.torch.set_num_threads(1)

    @cached_property
    def second(self) -> Any:
        return self.torch.device("cpu")

    @property
    def elsewhere(self) -> Any:
        return self.torch.device("meta")

    def seed(self, n: int) -> None:
        super().seed(n)
        self.torch.manual_seed(n)

    def tensor(self, values: Any, dtype: str = "float32") -> Any:
        return self.torch.tensor(values, dtype=self.dtype(dtype))

    @property
    def functions(self) -> Any:
        return self.torch

    def params(self, trainer: Any) -> list:
        optim = trainer.optim
        if hasattr(optim, "param_groups"):
            return [p for group in optim.param_groups for p in group["params"]]
        return list(optim.params)

    def opt_state(self, trainer: Any) -> list:
        states = getattr(trainer.optim, "state", {}).values()
        return [v for state in states for v in state.values()]

    def arrays(self, model: Any) -> list:
        return [*self.d2l.named_tensors(model).values()]

    def gradients(self, function: Callable, *arrays: Any) -> list:
        value = function(*(array.requires_grad_() for array in arrays))
        return [value, *self.torch.autograd.grad(value, arrays)]

    def operations(self, model: Any, X: Any) -> tuple[list, list]:
        model(X)  # makes lazy parameters

        def step() -> None:
            (model(X) ** 2).mean().backward()

        return self.d2l.list_operations(model, X), self.d2l.list_operations(step)

    def phase(self, name: str) -> AbstractContextManager:
        return self.torch.profiler.record_function(name)

    def training(self, model: Any) -> bool:
        assert self.torch.is_grad_enabled() == model.training
        return model.training

    def loss_scale(self, trainer: Any) -> float:
        return trainer.scaler.get_scale()

    def statistics(self, trainer: Any) -> list:
        return [*trainer.model.buffers()]

    def rank(self) -> int:
        return self.torch.distributed.get_rank()

    def add_up(self, value: float) -> float:
        total = self.torch.tensor(value)
        self.torch.distributed.all_reduce(total)
        return total.item()

    def count_fetches(self, monkeypatch: pytest.MonkeyPatch) -> list:
        calls: list = []
        names = "item tolist numpy cpu __float__ __int__ __bool__ __array__"
        spy(monkeypatch, self.torch.Tensor, names, calls)
        return calls


class MXNet(Framework):
    """Its contexts cpu(0) and cpu(1) are told apart."""

    tab, package, module = "mxnet", "mxnet", "mxnet"
    short_types = ()
    saving_reseeds = True

    def __init__(self) -> None:
        import mxnet

        self.mx = mxnet
        mxnet.npx.set_np()

    @cached_property
    def second(self) -> Any:
        return self.mx.cpu(1)

    def seed(self, n: int) -> None:
        super().seed(n)
        self.mx.random.seed(n)

    def tensor(self, values: Any, dtype: str = "float32") -> Any:
        return self.mx.np.array(values, dtype=dtype)

    @property
    def functions(self) -> Any:
        return self.mx.np

    def device(self, x: Any) -> Any:
        return x.ctx

    def params(self, trainer: Any) -> list:
        if hasattr(trainer.optim, "_params"):
            params = trainer.optim._params
            return [p.data() for p in params if p.grad_req != "null"]
        return list(trainer.optim.params)

    def opt_state(self, trainer: Any) -> list:
        updaters = getattr(trainer.optim, "_updaters", [])[:1]  # of the first device
        states = [s for updater in updaters for s in updater.states.values()]
        tuples = [s if isinstance(s, tuple) else (s,) for s in states]
        return [s for each in tuples for s in each if s is not None]

    def arrays(self, model: Any) -> list:
        return self.d2l.all_arrays(model)

    def gradients(self, function: Callable, *arrays: Any) -> list:
        for array in arrays:
            array.attach_grad()
        with self.mx.autograd.record():
            value = function(*arrays)
        value.backward()
        return [value, *(array.grad for array in arrays)]

    def operations(self, model: Any, X: Any) -> tuple[list, list]:
        model(X)  # makes lazy parameters

        def step() -> None:
            with self.mx.autograd.record():
                loss = (model(X) ** 2).mean()
            loss.backward()

        return self.d2l.list_operations(model, X), self.d2l.list_operations(step)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        event = self.mx.profiler.Event(name)
        event.start()
        yield
        event.stop()

    def training(self, model: Any) -> bool:
        mode = self.mx.autograd.is_training()
        assert self.mx.autograd.is_recording() == mode
        return mode

    def statistics(self, trainer: Any) -> list:
        return [p.data() for p in trainer.model.parameters() if p.grad_req == "null"]

    def rank(self) -> int:
        return self.d2l.worker_store().rank

    def add_up(self, value: float) -> float:
        store, key = self.d2l.worker_store(), self.d2l.new_key()
        total = self.tensor([value])
        store.broadcast(key, total, self.tensor([0.0]))
        store.pushpull(key, total)
        return float(total)

    def count_fetches(self, monkeypatch: pytest.MonkeyPatch) -> list:
        calls: list = []
        spy(monkeypatch, self.mx.np.ndarray, "asnumpy", calls)
        return calls


class Jax(Framework):
    """Its CPU is divided into four virtual devices."""

    tab, package, module = "jax", "jax", "jax"
    case_gpus = (1,)  # to save time: compiling takes most of it

    def __init__(self) -> None:
        import jax

        self.jax = jax

    def prepare(self) -> None:
        update = self.jax.config.update
        update("jax_num_cpu_devices", 4)
        self.cache = tempfile.TemporaryDirectory()  # many tests compile the same
        cache = os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", self.cache.name)
        update("jax_compilation_cache_dir", cache)
        update("jax_persistent_cache_min_compile_time_secs", 0)
        update("jax_disable_most_optimizations", True)  # compiles faster

    def free_programs(self) -> None:
        self.jax.clear_caches()

    @cached_property
    def second(self) -> Any:
        return self.jax.devices("cpu")[1]

    def fit(self, trainer: Any, model: Any, data: Any, **options: Any) -> None:
        trainer.fit(model, data, key=self.jax.random.key(0), **options)

    def build(self, model: Any, X: Any) -> None:
        """Do nothing: `fit` makes the parameters."""

    def outputs(self, trainer: Any, X: Any) -> Any:
        return trainer.model.apply({"params": trainer.state.params}, X)

    def tensor(self, values: Any, dtype: str = "float32") -> Any:
        return self.jax.numpy.array(values, dtype=dtype)

    @property
    def functions(self) -> Any:
        return self.jax.numpy

    def judge(self, what: str, Y_hat: Any, Y: Any, averaged: bool = True) -> Any:
        def outputs(variables: Any, X: Any, **options: Any) -> Any:
            return (X, {}) if "mutable" in options else X

        state = self.d2l.TrainState.create(
            apply_fn=outputs,
            params={},
            tx=self.d2l.SGD(0.1),
            batch_stats={},
            dropout_rng=self.jax.random.key(0),
        )
        model = self.d2l.Classifier()
        result = getattr(model, what)({}, (Y_hat,), Y, state, averaged)
        return self.numpy(result[0] if what == "loss" else result)

    def params(self, trainer: Any) -> list:
        return self.jax.tree_util.tree_leaves(trainer.state.params)

    def opt_state(self, trainer: Any) -> list:
        return self.jax.tree_util.tree_leaves(trainer.state.opt_state)

    def arrays(self, model: Any) -> list:
        """Return nothing: a model has no arrays."""
        return []

    def state(self, trainer: Any) -> list:
        optimizer, statistics = self.opt_state(trainer), self.statistics(trainer)
        return [*self.params(trainer), *optimizer, *statistics]

    def gradients(self, function: Callable, *arrays: Any) -> list:
        numbers = tuple(range(len(arrays)))
        value, grads = self.jax.value_and_grad(function, numbers)(*arrays)
        return [value, *grads]

    def operations(self, model: Any, X: Any) -> tuple[list, list]:
        keys = {name: self.jax.random.key(0) for name in ("params", "dropout")}
        variables = model.init(keys, X)

        def outputs(params: Any, X: Any) -> Any:
            state = {**variables, "params": params}
            rngs = {"dropout": keys["dropout"]}
            return model.apply(state, X, rngs=rngs, mutable=["batch_stats"])[0]

        def loss(params: Any, X: Any) -> Any:
            return (outputs(params, X) ** 2).mean()

        step, params = self.jax.grad(loss), variables["params"]
        functions = outputs, step
        forward, both = (self.d2l.list_operations(f, params, X) for f in functions)
        return forward, both

    def phase(self, name: str) -> AbstractContextManager:
        return self.jax.profiler.TraceAnnotation(name, phase=1)

    def statistics(self, trainer: Any) -> list:
        return self.jax.tree_util.tree_leaves(trainer.state.batch_stats)

    def rank(self) -> int:
        return self.jax.process_index()

    def add_up(self, value: float) -> float:
        from jax.experimental import multihost_utils

        return float(multihost_utils.process_allgather(value).sum())

    def count_fetches(self, monkeypatch: pytest.MonkeyPatch) -> list:
        calls: list = []
        names = "item tolist __float__ __int__ __bool__ __array__"
        spy(monkeypatch, type(self.jax.numpy.ones(1)), names, calls)
        return calls


class TensorFlow(Framework):
    """Its CPU is divided into four logical devices."""

    tab, package, module = "tensorflow", "tensorflow", "tensorflow"
    case_gpus = (1,)  # to save time: its steps are not compiled
    memory_error = 0.001
    rounding_error = 0.03

    def __init__(self) -> None:
        import tensorflow as tf

        self.tf = tf

    def prepare(self) -> None:
        config = self.tf.config
        config.set_logical_device_configuration(
            config.list_physical_devices("CPU")[0],
            [config.LogicalDeviceConfiguration()] * 4,
        )

    @cached_property
    def second(self) -> Any:
        return self.d2l.Device("/CPU:1")

    def seed(self, n: int) -> None:
        super().seed(n)
        self.tf.keras.utils.set_random_seed(n)

    def tensor(self, values: Any, dtype: str = "float32") -> Any:
        return self.tf.constant(values, dtype=dtype)

    @property
    def functions(self) -> Any:
        return self.tf

    def device(self, x: Any) -> Any:
        """Return the short form of names like /job:localhost/.../device:CPU:1."""
        name = getattr(x, "value", x).device if hasattr(x, "path") else x.device
        return "/" + name.split("device:")[-1]

    def params(self, trainer: Any) -> list:
        return list(trainer.model.trainable_variables)

    def opt_state(self, trainer: Any) -> list:
        kept = getattr(trainer.optim, "variables", [])
        return [v for v in kept if v.name not in {"iteration", "learning_rate"}]

    def arrays(self, model: Any) -> list:
        return [*model.variables]

    def gradients(self, function: Callable, *arrays: Any) -> list:
        with self.tf.GradientTape() as tape:
            tape.watch(arrays)
            value = function(*arrays)
        return [value, *tape.gradient(value, arrays)]

    def operations(self, model: Any, X: Any) -> tuple[list, list]:
        model(X)  # makes the variables

        def step(X: Any) -> list:
            with self.tf.GradientTape() as tape:
                loss = self.tf.reduce_mean(model(X) ** 2)
            return tape.gradient(loss, [v.value for v in model.trainable_variables])

        forward, both = (self.d2l.list_operations(f, X) for f in (model, step))
        return forward, both

    def phase(self, name: str) -> AbstractContextManager:
        return self.tf.profiler.experimental.Trace(name, step_num=0)

    def statistics(self, trainer: Any) -> list:
        return [v for v in trainer.model.variables if not v.trainable]

    def loss_scale(self, trainer: Any) -> float:
        return float(trainer.optim.dynamic_scale)

    def rank(self) -> int:
        return self.d2l.worker_rank()

    def add_up(self, value: float) -> float:
        def add() -> Any:
            context = self.tf.distribute.get_replica_context()
            return context.all_reduce("SUM", self.tf.constant(value))

        return float(self.d2l.join_workers().run(add))

    def count_fetches(self, monkeypatch: pytest.MonkeyPatch) -> list:
        calls: list = []
        names = "numpy __float__ __int__ __bool__ __array__"
        base = type(self.tf.constant(0.0)).__mro__[1]
        spy(monkeypatch, base, names, calls)
        return calls


FRAMEWORKS: dict[str, type[Framework]] = {
    f.tab: f for f in (PyTorch, MXNet, Jax, TensorFlow)
}
