"""The modules as a whole: what they import and export, and their aliases."""

import ast
import configparser
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from frameworks import FRAMEWORKS

ROOT = Path(__file__).parents[2]
OTHERS = {
    "pytorch": {"torch", "torchvision"},
    "mxnet": {"mxnet"},
    "jax": {"jax", "flax", "optax"},
    "tensorflow": {"tensorflow", "keras", "tensorflow_datasets"},
}


def sources(tab):
    """Return the code of a library, and of the module that all libraries import."""
    names = FRAMEWORKS[tab].module, "common"
    return [(ROOT / "d2l" / f"{name}.py").read_text() for name in names]


def test_import_loads_one_framework(fw):
    others = set().union(*(names for tab, names in OTHERS.items() if tab != fw.tab))
    code = (
        f"import sys, d2l.{fw.module}; print(*{{m.split('.')[0] for m in sys.modules}})"
    )
    run = [sys.executable, "-c", code]
    loaded = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(loaded.stdout.split()) & others


def defined(node):
    """Return the public names that a statement defines, or imports from the package.

    Those of d2l.common are what its own statements define, without its imports.
    """
    names = [getattr(node, "name", "")]
    if isinstance(node, ast.ImportFrom) and re.match(
        r"d2l\.(?!common)", f"{node.module}"
    ):
        names = [alias.name for alias in node.names]
    if isinstance(node, ast.Assign):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
    return {name for name in names if name and not name.startswith("_")}


def names_of_library(tab):
    """Return all public names of a library, also those that `__all__` leaves out."""
    nodes = [node for text in sources(tab) for node in ast.parse(text).body]
    return set().union(*map(defined, nodes)) - {"d2l"}


def test_all_has_names_of_the_library(fw, d2l):
    assert len(d2l.__all__) == len(set(d2l.__all__)) < 140
    assert set(d2l.__all__) < names_of_library(fw.tab)
    assert all(hasattr(d2l, name) for name in names_of_library(fw.tab))


def test_what_readers_of_d2l_know_is_there(d2l):
    known = """add_to_class HyperParameters ProgressBoard Module DataModule Trainer
        Classifier SyntheticRegressionData LinearRegressionScratch LinearRegression
        SGD plot set_figsize set_axes use_svg_display Timer cpu gpu num_gpus try_gpu
        try_all_gpus nn_Module"""
    assert set(known.split()) <= set(d2l.__all__)


def test_public_names_are_documented(fw, d2l):
    aliases = {name for name, _ in alias_lines(fw.module)}
    own = [getattr(d2l, name) for name in names_of_library(fw.tab) - aliases]
    assert [f.__name__ for f in own if not f.__doc__] == []


def test_help_explains_the_arguments_of_a_trainer(d2l):
    shown = pydoc.plain(pydoc.render_doc(d2l.Trainer))
    for argument in ("max_epochs", "num_gpus", "gradient_clip_val"):
        assert re.search(rf"^ \|  {argument}\n \|      .{{20}}", shown, re.M), argument
    assert re.search(r"Example: `Trainer\(max_epochs=\d\)\.fit\(model, data\)`", shown)
    # Python 3.13 writes each parameter on a line of its own.
    assert re.search(r"fit\([\s|]*self,[\s|]*model", shown)


def alias_lines(module):
    """Return (name, what it stands for) for each alias that config.ini gives."""
    config = configparser.ConfigParser()
    config.read(ROOT / "config.ini")
    [section] = [
        config[s]
        for s in config.sections()
        if config[s].get("lib_file") == f"d2l/{module}.py"
    ]
    kinds = ("alias", "simple_alias", "args_alias", "fluent_alias")
    lines = ",".join(section.get(kind, "") for kind in kinds).replace("\n", ",")
    found = [re.split(r" *(?:->|=) *", line.strip()) for line in lines.split(",")]
    return [(parts[0].split("(")[0], parts[-1]) for parts in found if parts[0]]


# Each alias as a call and what it returns; `a` is [[1, 2, 3], [4, 5, 6]], `v` [1, 2].
ROWS, FLAT = np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([1.0, 2])
WAVES = "sin sinh cos cosh tanh exp log".split()
CHECKS = {
    **{name: (f"{name}(v)", getattr(np, name)(FLAT)) for name in WAVES},
    "sigmoid": ("sigmoid(v)", 1 / (1 + np.exp(-FLAT))),
    "abs": ("abs(-v)", FLAT),
    "ones_like": ("ones_like(a)", np.ones((2, 3))),
    "ones": ("ones((2, 3))", np.ones((2, 3))),
    "zeros_like": ("zeros_like(a)", np.zeros((2, 3))),
    "zeros": ("zeros((2, 3))", np.zeros((2, 3))),
    "eye": ("eye(3)", np.eye(3)),
    "tensor": ("tensor([1., 2.])", FLAT),
    "arange": ("arange(3)", np.arange(3)),
    "linspace": ("linspace(0., 1., 3)", [0, 0.5, 1]),
    "matmul": ("matmul(a, transpose(a))", ROWS @ ROWS.T),
    "batch_matmul": ("batch_matmul(a3, a3)", np.full((2, 2, 2), 2)),
    "concat": ("concat((a, a), 0)", np.concatenate((ROWS, ROWS))),
    "stack": ("stack((v, v), 0)", [[1, 2], [1, 2]]),
    "reshape": ("reshape(a, (3, 2))", ROWS.reshape(3, 2)),
    "transpose": ("transpose(a)", ROWS.T),
    "swapaxes": ("swapaxes(a, 0, 1)", ROWS.T),
    "expand_dims": ("expand_dims(v, 0)", [[1, 2]]),
    "reduce_sum": ("reduce_sum(a, 1)", [6, 15]),
    "reduce_mean": ("reduce_mean(a)", 3.5),
    "argmax": ("argmax(a, 1)", [2, 2]),
    "size": ("size(a)", 6),
    "numpy": ("numpy(a)", ROWS),
    "to": ("to(v, cpu())", FLAT),
    "astype": ("astype(v + 0.5, int32)", [1, 2]),
    "int32": ("astype(v, int32)", [1, 2]),
    "int64": ("astype(v, int64)", [1, 2]),
    "float32": ("astype(v, float32)", FLAT),
    "repeat": ("repeat(v, 2)", [1, 1, 2, 2]),
    "meshgrid": ("reduce_sum(stack(meshgrid(v, v)))", 12),
}
# PyTorch's method `repeat` repeats the whole, those of the others each element.
EXCEPTIONS = {("repeat", "pytorch"): [1, 2, 1, 2]}
CHECKED_BELOW = {"nn_Module", "normal", "rand", "randn"}


def test_aliases_do_what_their_names_say(fw, d2l):
    names = {"a": fw.tensor(ROWS), "v": fw.tensor(FLAT)}
    names["a3"] = fw.tensor(np.ones((2, 2, 2)))
    for name, _ in alias_lines(fw.module):
        if name in CHECKED_BELOW:
            continue
        call, expected = CHECKS[name]
        value = eval(call, vars(d2l) | names)
        if not isinstance(value, (int, np.ndarray, np.number)):
            value = fw.numpy(value)
        if name in ("int32", "float32"):
            assert value.dtype == name
        expected = EXCEPTIONS.get((name, fw.tab), expected)
        np.testing.assert_allclose(value, expected, rtol=1e-5, err_msg=name)


def test_aliases_of_random_numbers(fw, d2l):
    there = {name for name, _ in alias_lines(fw.module)}
    if "normal" in there:
        arguments = ((500,), 3, 0.1) if fw.tab == "tensorflow" else (3, 0.1, (500,))
        sample = fw.numpy(d2l.normal(*map(float_or_shape, arguments)))
        assert abs(sample.mean() - 3) < 0.05 and abs(sample.std() - 0.1) < 0.05
    if "rand" in there:
        sample = fw.numpy(d2l.rand((500,)) if fw.tab != "mxnet" else d2l.rand(500))
        assert 0 <= sample.min() < 0.1 and 0.9 < sample.max() <= 1
    if "randn" in there:
        sample = fw.numpy(d2l.randn(500, 2))
        assert sample.shape == (500, 2) and abs(sample.std() - 1) < 0.1


def float_or_shape(value):
    return value if isinstance(value, tuple) else float(value)


def test_nn_module_is_the_base_of_models(d2l):
    assert issubclass(d2l.Module, d2l.nn_Module)
    assert issubclass(d2l.Classifier, d2l.Module)
