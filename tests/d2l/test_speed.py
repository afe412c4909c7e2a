"""The trainer is fast: it fetches nothing and compiles its steps."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import warnings

import pytest

CAN_COMPILE = ("mxnet", "jax", "tensorflow")


@pytest.fixture
def regression(d2l, fw):
    w = fw.tensor([2.0, -3.4])
    return d2l.SyntheticRegressionData(w, 4.2, 0.01, 240, 72, batch_size=32)


def caught(fit):
    """Return the warnings of a fit about steps that are not compiled."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit()
    return [str(w.message) for w in found if "uncompiled" in str(w.message)]


def timeline(d2l, fw, model, data, fetches, **kwargs):
    """Fit, and return how many values had been fetched when each epoch began."""

    class Watching(d2l.Trainer):
        def fit_epoch(self):
            before.append(len(fetches))
            super().fit_epoch()

    before: list[int] = []
    trainer = Watching(max_epochs=3, **kwargs)
    fw.fit(trainer, model, data)
    return before


@pytest.mark.parametrize("clip", [0, 1.0])
@pytest.mark.parametrize("name", ["LinearRegression", "LinearRegressionScratch"])
def test_nothing_is_fetched_but_points(d2l, fw, regression, monkeypatch, name, clip):
    model = getattr(d2l, name)(*[2][: name.endswith("Scratch")], lr=0.1)
    fetches = fw.count_fetches(monkeypatch)
    timeline(d2l, fw, model, regression, fetches, gradient_clip_val=clip)
    assert len(fetches) == sum(map(len, model.board.data.values())) == 3 * (2 + 1)


def test_nothing_is_fetched_in_an_epoch_without_points(d2l, fw, monkeypatch):
    model = d2l.MLP(num_outputs=10, num_hiddens=8, lr=0.1)
    for name in ("plot_train_per_epoch", "plot_valid_per_epoch"):
        object.__setattr__(model, name, 0.1)  # one point in ten epochs
    fetches = fw.count_fetches(monkeypatch)
    assert timeline(d2l, fw, model, d2l.Digits(), fetches) == [0, 0, 0]
    assert fetches == []


def test_models_of_the_library_are_compiled(d2l, fw, regression):
    models = [d2l.LinearRegression(lr=0.1), d2l.MLP(10, 8, 0.1)]
    for model, data in zip(models, [regression, d2l.Digits()], strict=True):
        trainer = d2l.Trainer(max_epochs=2, gradient_clip_val=1)
        assert caught(lambda t=trainer, m=model, d=data: fw.fit(t, m, d)) == []
        if fw.tab == "mxnet":
            assert trainer.train.hybrid and trainer.validate.hybrid
        elif fw.tab in CAN_COMPILE:
            assert trainer.train.compiled and trainer.validate.compiled


def test_python_of_a_compiled_step_runs_once_a_shape(d2l, fw, regression):
    if fw.tab not in ("jax", "tensorflow"):
        pytest.skip("here the step itself is not compiled")

    class Counting(d2l.LinearRegressionScratch):
        def training_step(self, *args):
            calls.append(1)
            return super().training_step(*args)

    calls: list = []
    trainer = d2l.Trainer(max_epochs=5)
    fw.fit(trainer, Counting(2, lr=0.1), regression)
    assert trainer.train_batch_idx == 5 * 8
    assert len(calls) == {"jax": 2, "tensorflow": 3}[fw.tab]


def branching(fw):
    """Return a model whose Python looks at the value of a tensor."""
    d2l = fw.d2l
    if fw.tab == "mxnet":
        from mxnet.gluon import nn

        class Layer(nn.HybridBlock):
            def hybrid_forward(self, F, X):
                return X * 2 if X.sum() > 0 else X * 3

        class Branching(d2l.LinearRegression):
            def __init__(self):
                super().__init__(lr=0.05)
                self.scale = Layer()

            def forward(self, X):
                return self.scale(super().forward(X))

        return Branching()

    class Branching(d2l.LinearRegressionScratch):  # type: ignore[no-redef]
        def forward(self, X):
            H = d2l.LinearRegressionScratch.forward(self, X)
            return H * 2 if d2l.reduce_sum(H) > 0 else H * 3

    return Branching(2, lr=0.05)  # type: ignore[call-arg]


def test_a_model_that_looks_at_values_trains(d2l, fw, regression):
    model = branching(fw)
    trainer = d2l.Trainer(max_epochs=8, gradient_clip_val=100)
    said = caught(lambda: fw.fit(trainer, model, regression))
    losses = [y for _, y in model.board.data["val_loss"]]
    assert len(losses) == 8 and losses[-1] < losses[0] / 5
    assert trainer.train_batch_idx == 8 * 8
    if fw.tab in CAN_COMPILE:
        assert any("`return H * 2 if" in s or "`return X * 2 if" in s for s in said)
        assert all("\n" not in message for message in said)
        assert all("Branching" in message and "slower" in message for message in said)
    assert len(said) == {"jax": 2, "tensorflow": 2, "mxnet": 1, "pytorch": 0}[fw.tab]


def test_an_error_of_the_model_is_raised_and_nothing_else_is_said(d2l, fw, regression):
    class Wrong(d2l.LinearRegressionScratch):
        def loss(self, *args):
            raise TypeError("wrong")

    def fit():
        with pytest.raises(TypeError, match="wrong"):
            fw.fit(d2l.Trainer(max_epochs=1), Wrong(2, lr=0.1), regression)

    assert caught(fit) == []


def test_a_step_that_was_not_compiled_is_tried_again_in_the_next_fit(
    d2l, fw, regression
):
    if fw.tab not in CAN_COMPILE:
        pytest.skip("here the step itself is not compiled")
    trainer = d2l.Trainer(max_epochs=2)
    assert caught(lambda: fw.fit(trainer, branching(fw), regression))
    assert caught(lambda: fw.fit(trainer, d2l.LinearRegression(0.1), regression)) == []
    assert trainer.train.hybrid if fw.tab == "mxnet" else trainer.train.compiled


def test_a_step_that_reads_the_epoch_is_not_frozen(d2l, fw, regression):
    class Reading(d2l.LinearRegressionScratch):
        def training_step(self, *args):
            epochs.append(self.trainer.epoch)
            return super().training_step(*args)

    epochs: list = []
    said = caught(
        lambda: fw.fit(d2l.Trainer(max_epochs=3), Reading(2, lr=0.1), regression)
    )
    traced = fw.tab == "tensorflow"  # to make the variables
    assert epochs[traced:] == [0] * 8 + [1] * 8 + [2] * 8
    compiled = fw.tab in ("jax", "tensorflow")
    assert len(said) == compiled and all("trainer.epoch" in s for s in said)


def test_curves_come_in_the_order_of_the_program(d2l, fw):
    class Two(d2l.MLP):
        def validation_step(self, *args):
            super().validation_step(*args)
            self.plot("a", fw.tensor(1.0), train=False)

    model = Two(10, 8, 0.1)
    fw.fit(d2l.Trainer(max_epochs=2), model, d2l.Digits())
    assert list(model.board.data) == ["train_loss", "val_loss", "val_acc", "val_a"]
