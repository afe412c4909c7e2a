"""Programs of the original book: what its sections call, with which arguments.

The models in its style are in `models_TAB.py`; `test_models.py` trains them.
"""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest


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
    losses = []
    for Trainer in (fw.models.OwnLoop, d2l.Trainer):
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
