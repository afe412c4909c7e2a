"""Programs of the original book: what its sections call, with which arguments.

The models in its style are in `models_TAB.py`; `test_models.py` trains them.
"""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import gzip
import hashlib
import importlib
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from d2l import fashion_mnist

IMAGES = {"train": 40, "t10k": 20}


def idx_file(array: np.ndarray, magic: int) -> bytes:
    """Return a file in the format of Fashion-MNIST."""
    head = np.array([magic, *array.shape], dtype=">i4")
    return gzip.compress(head.tobytes() + array.astype("uint8").tobytes())


@pytest.fixture
def fashion(d2l, tmp_path, monkeypatch):
    """FashionMNIST with 40 random images to train on and 20 to validate on."""
    folder = tmp_path / "data" / "fashion-mnist"
    (tmp_path / "program").mkdir()
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for kind, n in IMAGES.items():
        images, labels = rng.integers(0, 256, (n, 28, 28)), np.arange(n) % 10
        for name, content in (
            (f"{kind}-images-idx3-ubyte.gz", idx_file(images, 2051)),
            (f"{kind}-labels-idx1-ubyte.gz", idx_file(labels, 2049)),
        ):
            (folder / name).write_bytes(content)
            md5 = hashlib.md5(content).hexdigest()
            monkeypatch.setitem(fashion_mnist.FASHION_MNIST, name, md5)
    monkeypatch.chdir(tmp_path / "program")  # the data are in ../data

    def make(**arguments: Any) -> Any:
        data = d2l.FashionMNIST(**arguments)
        data.num_workers = 0  # starting processes would take seconds
        return data

    return make


def titles() -> list[str]:
    """Return the titles of the axes of the current figure that have one."""
    found = [axes.get_title() for axes in plt.gcf().axes]
    return [title for title in found if title]


def shown(i: int) -> np.ndarray:
    """Return the image in the `i`th axes of the current figure."""
    return np.asarray(plt.gcf().axes[i].images[0].get_array())


def test_visualize_shows_images_with_the_names_of_their_labels(fw, fashion):
    data = fashion(batch_size=16)
    X, y = next(iter(data.val_dataloader()))
    data.visualize([X, y])
    assert len(plt.gcf().axes) == 8
    assert titles() == data.text_labels(y)[:8] == data.text_labels(range(8))
    np.testing.assert_allclose(shown(3), fw.numpy(X)[3].squeeze())


def test_visualize_shows_other_labels(fashion):
    data = fashion(batch_size=16, resize=(32, 32))
    X, y = next(iter(data.val_dataloader()))
    data.visualize([X[:2], y[:2]], nrows=2, ncols=2, labels=["one", "two"])
    assert len(plt.gcf().axes) == 4 and titles() == ["one", "two"]
    assert shown(0).shape == (32, 32)


def test_wrong_predictions_are_shown(d2l, fw, fashion):
    data, trainer = fashion(batch_size=20), d2l.Trainer(max_epochs=1)
    model = importlib.import_module(f"models_{fw.tab}").SoftmaxScratch(784, 10, 0.1)
    fw.fit(trainer, model, data)
    X, y = next(iter(data.val_dataloader()))
    preds = d2l.argmax(fw.outputs(trainer, X), axis=1)
    wrong = d2l.astype(preds, y.dtype) != y
    X, y, preds = X[wrong], y[wrong], preds[wrong]
    pairs = zip(data.text_labels(y), data.text_labels(preds), strict=True)
    labels = [f"{right}\n{guess}" for right, guess in pairs]
    data.visualize([X, y], labels=labels)
    assert titles() == labels[:8] != []


def test_show_images_of_tensors_and_of_arrays(d2l, fw):
    pixels = np.arange(2 * 3 * 4, dtype="float32").reshape(2, 3, 4)
    d2l.show_images(fw.tensor(pixels.tolist()), 1, 2)
    np.testing.assert_array_equal(shown(1), pixels[1])
    axes = d2l.show_images([pixels[0], np.zeros((5, 6, 3))], 2, 1, ["gray", "RGB"], 2)
    assert [ax.images[0].get_array().shape for ax in axes] == [(3, 4), (5, 6, 3)]
    assert titles() == ["gray", "RGB"]
    assert list(plt.gcf().get_size_inches()) == [2, 4]


def lines() -> list:
    """Return the lines of the current axes."""
    return plt.gca().lines[:]


def values(data: Any) -> list[float]:
    """Return the numbers in the data of a line."""
    return np.array(data, dtype=float).ravel().tolist()


def test_plot_of_columns_over_one_axis(d2l, fw):
    x, column = fw.tensor([1, 2, 3]), fw.tensor([[4], [5], [6]])
    d2l.plot(
        x, [column, fw.numpy(column)], "time", "x", legend=["a", "b"], figsize=(6, 3)
    )
    axes = plt.gca()
    assert [values(line.get_ydata()) for line in lines()] == [[4, 5, 6]] * 2
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time", "x")


def test_plot_of_columns_over_axes_of_their_own(d2l, fw):
    x, column = fw.tensor([1, 2, 3]), fw.numpy(fw.tensor([[4], [5], [6]]))
    d2l.plot([x, x[1:]], [column, column[1:]])
    data = [(values(line.get_xdata()), values(line.get_ydata())) for line in lines()]
    assert data == [([1, 2, 3], [4, 5, 6]), ([2, 3], [5, 6])]


def test_one_trainer_fits_two_models_with_boards_of_their_own(d2l, fw):
    w = fw.tensor([2.0, -3.4])
    data = d2l.SyntheticRegressionData(w=w, b=4.2, num_train=96, num_val=64)
    trainer = d2l.Trainer(max_epochs=1)
    models = [d2l.LinearRegressionScratch(2, lr=0.03), d2l.LinearRegression(lr=0.03)]
    for model in models:
        model.board.yscale = "log"
        fw.fit(trainer, model, data)
        model.board.show()
        assert model.board.axes.get_yscale() == "log"
        assert model.board.axes.get_xlim() == (0, 1)
        assert sorted(model.board.data) == ["train_loss", "val_loss"]
        assert trainer.model is model


@pytest.mark.parametrize("clip", [0, 1])
def test_a_loop_written_by_hand_trains_as_the_trainer_does(d2l, fw, clip):
    own = importlib.import_module(f"models_{fw.tab}").OwnLoop
    losses = []
    for Trainer in (own, d2l.Trainer):
        fw.seed(0)
        w = fw.tensor([2.0, -3.4])
        data = d2l.SyntheticRegressionData(w, 4.2, num_train=160, num_val=64)
        model = d2l.LinearRegressionScratch(2, lr=0.1)
        trainer = Trainer(max_epochs=2, gradient_clip_val=clip)
        fw.fit(trainer, model, data)
        losses.append([y for _, y in model.board.data["val_loss"]])
        assert (trainer.train_batch_idx, trainer.val_batch_idx) == (10, 4)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


NAMES = {
    "Trainer": "max_epochs num_gpus gradient_clip_val",
    "Trainer.prepare_data": "self data",
    "Trainer.prepare_model": "self model",
    "Trainer.prepare_batch": "self batch",
    "Trainer.fit_epoch": "self",
    "DataModule": "root num_workers",
    "DataModule.get_dataloader": "self train",
    "DataModule.get_tensorloader": "self tensors train indices",
    "SyntheticRegressionData": "w b noise num_train num_val batch_size",
    "FashionMNIST": "batch_size resize",
    "FashionMNIST.text_labels": "self indices",
    "FashionMNIST.visualize": "self batch nrows ncols labels",
    "HyperParameters.save_hyperparameters": "self ignore",
    "ProgressBoard": "xlabel ylabel xlim ylim xscale yscale ls colors fig axes figsize "
    "display",
    "ProgressBoard.draw": "self x y label every_n",
    "Module.plot": "self key value train",
    "Module.configure_optimizers": "self",
    "plot": "X Y xlabel ylabel legend xlim ylim xscale yscale fmts figsize axes",
    "set_axes": "axes xlabel ylabel xlim ylim xscale yscale legend",
    "set_figsize": "figsize",
    "show_images": "images num_rows num_cols titles scale",
    "add_to_class": "Class",
    "LinearRegressionScratch": "num_inputs lr sigma",
    "LinearRegression": "lr",
    "gpu": "i",
    "try_gpu": "i",
    "try_all_gpus": "",
    "num_gpus": "",
    "cpu": "",
}
STATEFUL = {
    "Trainer.fit": "self model data",
    "Module": "plot_train_per_epoch plot_valid_per_epoch",
    "Module.loss": "self y_hat y",
    "Module.training_step": "self batch",
    "Module.validation_step": "self batch",
    "Classifier.loss": "self Y_hat Y averaged",
    "Classifier.accuracy": "self Y_hat Y averaged",
    "Module.layer_summary": "self X_shape",
}
OWN_NAMES = {
    "pytorch": STATEFUL
    | {
        "SGD": "params lr",
        "SGD.step": "self",
        "SGD.zero_grad": "self",
        "Module.apply_init": "self inputs init",
        "Trainer.clip_gradients": "self grad_clip_val model",
        "init_cnn": "module",
    },
    "mxnet": STATEFUL
    | {
        "SGD": "params lr",
        "SGD.step": "self _",
        "Module.get_scratch_params": "self",
        "Module.parameters": "self",
        "Module.set_scratch_params_device": "self device",
        "Trainer.clip_gradients": "self grad_clip_val model",
    },
    "tensorflow": STATEFUL
    | {
        "SGD": "lr",
        "SGD.apply_gradients": "self grads_and_vars",
        "Trainer.clip_gradients": "self grad_clip_val grads",
    },
    "jax": {
        "Trainer.fit": "self model data key",
        "Module.loss": "self params X y state",
        "Module.training_step": "self params batch state",
        "Module.validation_step": "self params batch state",
        "Module.apply_init": "self dummy_input key",
        "Module.layer_summary": "self X_shape key",
        "Classifier.loss": "self params X Y state averaged",
        "Classifier.accuracy": "self params X Y state averaged",
        "SGD": "lr",
        "SGD.init": "self params",
        "SGD.update": "self updates state params",
        "Trainer.clip_gradients": "self grad_clip_val grads",
        "get_key": "",
        "get_seed": "",
    },
}


def parameters(d2l: ModuleType, path: str) -> list[str]:
    """Return the names of the parameters of `path`, such as Module or Module.loss.

    `fit` may have one more, which is optional, and `Trainer` settings by keyword.
    """
    value: Any = d2l
    for name in path.split("."):
        value = getattr(value, name)
    found = inspect.signature(value).parameters
    added = {"name", "parent"} if d2l.__name__ == "d2l.jax" else set()  # by Flax
    if path == "Trainer.fit" and found["checkpoint_dir"].default is None:
        added.add("checkpoint_dir")
    if path == "Trainer":
        added |= {name for name, p in found.items() if p.kind is p.KEYWORD_ONLY}
    return [name for name in found if name not in added]


def test_parameters_have_the_names_and_the_order_of_the_original_book(d2l, fw):
    expected = {
        path: names.split() for path, names in (NAMES | OWN_NAMES[fw.tab]).items()
    }
    assert {path: parameters(d2l, path) for path in expected} == expected
