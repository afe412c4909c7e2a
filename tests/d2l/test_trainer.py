"""The trainer, through models that the library defines.

`d2l/settings.py` has what the trainers of all libraries share.
"""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import copy
import pickle

import numpy as np
import pytest
from training import named

W, B = [2.0, -3.4], 4.2


@pytest.fixture
def regression(d2l, fw):
    w = fw.tensor(W)
    return d2l.SyntheticRegressionData(w, B, 0.01, 1024, 256, batch_size=64)


def linear(d2l, name):
    """Return a linear regression model, from scratch or concise."""
    return getattr(d2l, name)(*[2][: name.endswith("Scratch")], lr=0.3)


LINEAR = pytest.mark.parametrize(
    "name", ["LinearRegressionScratch", "LinearRegression"]
)
GPUS = pytest.mark.parametrize("num_gpus", [0, 1])


def values(fw, trainer):
    return [fw.numpy(p) for p in fw.params(trainer)]


def found(fw, trainer):
    """Return the weights and the bias that were learned."""
    params = sorted(values(fw, trainer), key=np.size, reverse=True)
    return np.concatenate([p.reshape(-1) for p in params])


def assert_found(fw, trainer, bias=B):
    np.testing.assert_allclose(found(fw, trainer), [*W, bias], atol=0.02)


@GPUS
@LINEAR
def test_linear_regression_finds_the_truth(
    d2l, fw, fake_gpu, regression, name, num_gpus
):
    trainer = d2l.Trainer(max_epochs=3, num_gpus=num_gpus)
    fw.fit(trainer, linear(d2l, name), regression)
    assert_found(fw, trainer)
    if num_gpus:
        assert {fw.device(p) for p in fw.params(trainer)} == {fake_gpu}


def test_accuracy_and_loss_of_a_classifier(fw):
    scores, labels = fw.tensor([[0, 1], [2, 0]]), fw.tensor([1, 1], "int64")
    assert fw.judge("accuracy", scores, labels) == 0.5
    assert fw.judge("accuracy", scores, labels, averaged=False).tolist() == [1, 0]
    each = fw.judge("loss", scores, labels, averaged=False)
    np.testing.assert_allclose(each, np.log1p(np.exp([-1, 2])), rtol=1e-5)
    np.testing.assert_allclose(fw.judge("loss", scores, labels), each.mean(), rtol=1e-5)


def test_a_classifier_takes_each_step_of_a_sequence_for_an_example(fw):
    scores, labels = np.arange(30).reshape(2, 5, 3) % 7, np.arange(10) % 3

    def judge(what, scores, labels):
        scores, labels = fw.tensor(scores), fw.tensor(labels, "int64")
        return fw.judge(what, scores, labels, averaged=False)

    for what in ("loss", "accuracy"):
        each = judge(what, scores, labels.reshape(2, 5))
        assert each.shape == (10,)
        for shape in ((10,), (2, 5), (10, 1)):
            same = judge(what, scores.reshape(10, 3), labels.reshape(shape))
            np.testing.assert_array_equal(same, each)


@GPUS
def test_mlp_reads_digits(d2l, fw, fake_gpu, num_gpus):
    model = d2l.MLP(num_outputs=10, num_hiddens=64, lr=0.5)
    fw.fit(d2l.Trainer(max_epochs=5, num_gpus=num_gpus), model, d2l.Digits())
    curves = model.board.data
    assert curves["val_acc"][-1][1] > 0.9
    assert curves["train_loss"][-1][1] < curves["train_loss"][0][1] / 2
    assert curves["val_loss"][-1][1] < 0.5


def test_get_w_b(d2l, fw, regression):
    model, trainer = linear(d2l, "LinearRegression"), d2l.Trainer(max_epochs=3)
    fw.fit(trainer, model, regression)
    w, b = model.get_w_b(*[trainer.state] if fw.tab == "jax" else [])
    for value, truth in ((w, W), (b, [B])):
        value = value if isinstance(value, np.ndarray) else fw.numpy(value)
        np.testing.assert_allclose(value.reshape(-1), truth, atol=0.02)


def test_what_the_trainer_counts(d2l, fw, regression):
    model, trainer = linear(d2l, "LinearRegressionScratch"), d2l.Trainer(max_epochs=2)
    fw.fit(trainer, model, regression)
    assert (trainer.num_train_batches, trainer.num_val_batches) == (16, 4)
    assert (trainer.train_batch_idx, trainer.val_batch_idx) == (32, 8)
    assert trainer.epoch == 1 and trainer.model is model and model.trainer is trainer
    assert model.board.xlim == [0, 2] and model.board.xlabel == "epoch"


def test_points_on_the_board(d2l, fw, regression):
    model = linear(d2l, "LinearRegressionScratch")
    fw.fit(d2l.Trainer(max_epochs=2), model, regression)
    train, val = model.board.data["train_loss"], model.board.data["val_loss"]
    assert [x for x, _ in val] == [1, 2]
    middle = sum(range(8)) / 8 / 16  # of the first half of an epoch
    np.testing.assert_allclose([x for x, _ in train], middle + np.arange(4) / 2)
    assert train[0][1] > train[-1][1]


@pytest.mark.parametrize("wanted", [0, 8])
def test_as_many_points_as_the_model_asks_for(d2l, fw, regression, wanted):
    model = linear(d2l, "LinearRegressionScratch")
    object.__setattr__(model, "plot_train_per_epoch", wanted)  # in JAX, it is frozen
    fw.fit(d2l.Trainer(max_epochs=1), model, regression)
    assert len(model.board.data.get("train_loss", [])) == wanted
    assert model.board.data["val_loss"]


def test_fewer_minibatches_than_points(d2l, fw):
    data = d2l.SyntheticRegressionData(fw.tensor(W), B, num_train=10, num_val=10)
    model = linear(d2l, "LinearRegressionScratch")
    fw.fit(d2l.Trainer(max_epochs=3), model, data)
    assert len(model.board.data["train_loss"]) == 3


@LINEAR
def test_a_model_trains_on_one_device_after_the_other(
    d2l, fw, fake_gpu, regression, name
):
    """In JAX, a model holds no parameters, so that each fit makes the same ones."""

    class Watching(d2l.Trainer):
        def fit_epoch(self):
            starts.append(found(fw, self))
            super().fit_epoch()

    starts: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    model = linear(d2l, name)
    fw.build(model, fw.tensor([W]))
    for num_gpus in (0, 1, 0):
        trainer = Watching(max_epochs=1, num_gpus=num_gpus)
        fw.fit(trainer, model, regression)
        ends.append(found(fw, trainer))
        device = fake_gpu if num_gpus else fw.device(fw.tensor(1.0))
        assert {fw.device(p) for p in fw.params(trainer)} == {device}
    earlier = starts if fw.tab == "jax" else ends
    np.testing.assert_array_equal(starts[1:], earlier[:-1])


def watching(fw, act):
    """Return a class of models that call `act(model, args, training)` in each step."""

    class Watching(fw.models.Layers):
        def training_step(self, *args):
            act(self, args, True)
            return super().training_step(*args)

        def validation_step(self, *args):
            act(self, args, False)
            super().validation_step(*args)

    return lambda *layers: Watching(layers, "sgd", 0.1)


def test_a_model_knows_its_mode(d2l, fw):
    modes = set()
    model = watching(fw, lambda model, _, mode: modes.add((fw.training(model), mode)))
    fw.fit(d2l.Trainer(max_epochs=2), model(8, 10), d2l.Digits(batch_size=479))
    assert modes == {(True, True), (False, False)}


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
def test_dropout_only_while_training(d2l, fw):
    def loss(model, args, key):
        if fw.tab != "jax":
            return float(model.loss(model(*args[0][:-1]), args[0][-1]))
        params, batch, state = args
        state = state.replace(dropout_rng=fw.jax.random.key(key))
        return float(model.loss(params, batch[:-1], batch[-1], state)[0])

    def compare(model, args, training):
        same[training].append(loss(model, args, 0) == loss(model, args, 1))

    same: dict = {True: [], False: []}
    model = watching(fw, compare)(16, 0.5, 10)
    fw.fit(d2l.Trainer(max_epochs=1), model, d2l.Digits(batch_size=479))
    assert same == {True: [False] * 3, False: [True]}


def test_training_changes_the_whole_state_and_validation_does_not(d2l, fw):
    class Watching(d2l.Callback):
        def before_step(self, trainer, batch):
            seen.append([fw.numpy(array) for array in fw.state(trainer)])

        def after_step(self, trainer):
            self.before_step(trainer, None)

    seen: list = []
    trainer = d2l.Trainer(max_epochs=2, callbacks=[Watching()])
    model = fw.model(16, "relu", "norm", 10)
    fw.build(model, fw.tensor(np.ones((2, 64))))
    fw.fit(trainer, model, d2l.Digits(batch_size=800))
    last, first = seen[3], seen[4]  # of an epoch, and of the next one
    assert all(map(np.array_equal, last, first))
    assert not any(map(np.array_equal, seen[4], seen[5]))


def test_prepare_batch_of_a_subclass(d2l, fw, regression):
    class Shifted(d2l.Trainer):
        def prepare_batch(self, batch):
            X, y = super().prepare_batch(batch)
            return X, y + 1

    trainer = Shifted(max_epochs=3)
    fw.fit(trainer, linear(d2l, "LinearRegression"), regression)
    assert_found(fw, trainer, B + 1)


def test_a_pair_of_loaders(d2l, fw, regression):
    train, val = (list(regression.get_dataloader(train)) for train in (True, False))
    trainer = d2l.Trainer(max_epochs=3)
    fw.fit(trainer, linear(d2l, "LinearRegressionScratch"), (train, val[:3]))
    assert trainer.num_train_batches == len(train) and trainer.val_batch_idx == 9
    assert_found(fw, trainer)


def test_a_stream_has_epochs_of_a_number_of_steps(d2l, fw, tmp_path):
    X, y = next(iter(d2l.Digits(batch_size=8).val_dataloader()))

    class Growing(d2l.DataModule):
        def train_dataloader(self):
            return ((X * i / 10, y) for i in range(6))

        def val_dataloader(self):
            return [(X, y)]

    def run(epochs, **options):
        fw.seed(1)
        trainer = d2l.Trainer(epochs, steps_per_epoch=3)
        fw.fit(trainer, d2l.MLP(10, 8, 0.1), Growing(), **options)
        return trainer

    whole = run(2)
    assert (whole.train_batch_idx, whole.num_train_batches) == (6, 3)
    run(1, checkpoint_dir=tmp_path)
    resumed = run(2, checkpoint_dir=tmp_path)  # skips the first three
    for a, b in zip(values(fw, whole), values(fw, resumed), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_loader_has_epochs_of_a_number_of_steps(d2l, fw):
    trainer = d2l.Trainer(2, steps_per_epoch=2)
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=100))
    assert (trainer.train_batch_idx, trainer.num_train_batches) == (4, 2)


def test_no_epochs(d2l, fw):
    model, trainer = d2l.MLP(10, 8, 0.1), d2l.Trainer(max_epochs=0)
    fw.fit(trainer, model, d2l.Digits())
    assert model.board.data == {} and trainer.train_batch_idx == 0


def test_a_callback_sees_the_epochs_and_ends_the_training(d2l, fw):
    class Stop(d2l.Callback):
        def before_fit(self, trainer):
            self.seen: list = [("fit", trainer.optim is not None)]

        def after_epoch(self, trainer):
            self.seen.append(len(trainer.model.board.data["val_loss"]))
            trainer.should_stop = trainer.epoch == 1

    trainer = d2l.Trainer(5, callbacks=[Stop()])
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=500))
    assert trainer.callbacks[0].seen == [("fit", True), 1, 2]
    assert trainer.epoch == 1
    trainer.callbacks = ()
    trainer.max_epochs = 1
    fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits(batch_size=500))
    assert not trainer.should_stop


def test_copies_of_a_trained_model_leave_its_trainer_out(d2l, fw):
    if fw.tab in ("mxnet", "tensorflow"):
        return  # these frameworks have ways of their own to save a model
    model, trainer = d2l.MLP(10, 8, 0.1), d2l.Trainer(max_epochs=1)
    fw.fit(trainer, model, d2l.Digits())
    X = fw.tensor(np.ones((3, 64)))
    expected = fw.numpy(fw.outputs(trainer, X))
    for copied in pickle.loads(pickle.dumps(model)), copy.deepcopy(model):
        assert not hasattr(copied, "trainer")
        assert copied.board.data == model.board.data
        trainer.model = copied
        np.testing.assert_array_equal(fw.numpy(fw.outputs(trainer, X)), expected)
        fw.fit(d2l.Trainer(1), copied, d2l.Digits())
        assert len(copied.board.data["val_acc"]) == 2
    assert model.trainer is trainer and len(pickle.dumps(model)) < 20_000


def recorded(monkeypatch, owner, name):
    """Return a list of the arguments of calls, except for those within a call."""
    calls, depth, original = [], [0], getattr(owner, name)

    def call(*args, **kwargs):
        if depth[0] == 0:
            calls.append(args)
        depth[0] += 1
        try:
            return original(*args, **kwargs)
        finally:
            depth[0] -= 1

    monkeypatch.setattr(owner, name, call)
    return calls


def test_an_epoch_moves_each_minibatch_once(d2l, fw, fake_gpu, monkeypatch):
    """As many bytes as the section on GPUs predicts: 1797 images and labels."""

    class Counting(d2l.Trainer):
        def fit_epoch(self):
            moves.clear()
            super().fit_epoch()

    moves = recorded(monkeypatch, d2l, "move_to")
    fw.fit(Counting(max_epochs=2, num_gpus=1), d2l.MLP(10, 8, 0.1), d2l.Digits())
    label = 8 if fw.tab == "pytorch" else 4
    sizes = [fw.numpy(a).nbytes for batch, *_ in moves for a in batch]
    assert len(moves) == 29 and sum(sizes) == 1797 * (64 * 4 + label)


def test_a_minibatch_stays_as_it_is_on_the_cpu(d2l, fw):
    x = fw.tensor([1, 2])
    moved = d2l.Trainer(max_epochs=1).prepare_batch((x, {"a": x}))
    assert moved[0] is x and moved[1]["a"] is x


def test_steps_get_their_minibatch_on_the_device_that_is_given(d2l, fw):
    steps = "train_step val_step" if fw.tab == "pytorch" else "train validate"
    got = []

    def watch(step):
        def watched(*args):
            got.append({fw.device(tensor) for tensor in args[-1]})
            return step(*args)

        return watched

    class Watching(d2l.Trainer):
        def fit_epoch(self):
            for name in steps.split():
                setattr(self, name, watch(getattr(self, name)))
            super().fit_epoch()

    model = d2l.MLP(10, 8, 0.1)
    model.plot_train_per_epoch = model.plot_valid_per_epoch = 0  # reads no value
    fw.build(model, fw.tensor(np.ones((2, 64))))
    fw.fit(Watching(1, devices=[fw.elsewhere]), model, d2l.Digits(batch_size=500))
    assert got == [{fw.elsewhere}] * (3 + 1)


FORMS: dict = {
    "dict": lambda X, y: {"X": X, "y": y},
    "tuples": lambda X, y: ((X / 2, X / 2), y),
}


@GPUS
@pytest.mark.parametrize("form", FORMS)
def test_minibatches_of_other_forms(d2l, fw, fake_gpu, regression, form, num_gpus):
    class Pairs(d2l.LinearRegressionScratch):
        def forward(self, halves):
            return super().forward(halves[0] + halves[1])

    kind = named(fw, d2l.LinearRegressionScratch) if form == "dict" else Pairs
    loaders = (regression.get_dataloader(train) for train in (True, False))
    data = tuple([FORMS[form](*batch) for batch in loader] for loader in loaders)
    trainer = d2l.Trainer(max_epochs=3, num_gpus=num_gpus)
    fw.fit(trainer, kind(2, lr=0.3), data)
    assert_found(fw, trainer)


@pytest.mark.parametrize("built", [False, True])
def test_everything_is_on_the_gpu_while_it_trains(d2l, fw, monkeypatch, built):
    fw.pretend(monkeypatch, fw.elsewhere)
    model, drawn = fw.model(16, "norm", "relu", 0.5, 10), []
    monkeypatch.setattr(model.board, "draw", lambda x, y, *a, **k: drawn.append(y))
    if built or fw.tab == "pytorch":  # whose meta tensors have no shapes for it
        fw.build(model, fw.tensor(np.ones((2, 64))))
    trainer = d2l.Trainer(max_epochs=1, num_gpus=1)
    for _ in range(2):
        fw.fit(trainer, model, d2l.Digits(batch_size=479))
        arrays = [array for array in fw.state(trainer) if array.shape] + drawn
        assert {fw.device(array) for array in arrays} == {fw.elsewhere}
        assert len(fw.params(trainer)) == 6  # without means and variances
        assert len(fw.opt_state(trainer)) >= 2 * 6 and len(drawn) >= 3


@pytest.mark.parametrize("where", ["loader", "model"])
def test_an_interrupted_fit_leaves_model_and_trainer_usable(
    d2l, fw, fake_gpu, regression, where
):
    def interrupt(place, call):
        calls.append(place)
        if place == where and calls.count(place) == call:
            raise KeyboardInterrupt

    class Trainer(d2l.Trainer):
        def prepare_batch(self, batch):
            interrupt("loader", call=5)
            return super().prepare_batch(batch)

    class Model(d2l.LinearRegressionScratch):
        def training_step(self, *args):
            interrupt("model", call=1)
            return super().training_step(*args)

    calls: list[str] = []
    model, trainer = Model(2, lr=0.3), Trainer(max_epochs=3, num_gpus=1)
    with pytest.raises(KeyboardInterrupt):
        fw.fit(trainer, model, regression)
    assert fw.tab == "pytorch" or fw.device(fw.tensor(1.0)) != fake_gpu
    fw.fit(trainer, model, regression)
    assert_found(fw, trainer)
    assert trainer.train_batch_idx == 3 * 16 and model.board.bar is None


def one_step(fw, model, y, clip):
    """Return the change of all parameters in one step of size 1, and its norm."""

    class Remembering(fw.d2l.Callback):
        def before_step(self, trainer, batch):
            self.before = values(fw, trainer)

    X, remembering = fw.tensor([[3.0, 4.0]]), Remembering()
    fw.build(model, X)
    trainer = fw.d2l.Trainer(1, gradient_clip_val=clip, callbacks=[remembering])
    fw.fit(trainer, model, ([(X, fw.tensor([[y]]))], None))
    pairs = zip(remembering.before, values(fw, trainer), strict=True)
    change = np.concatenate([(b - a).reshape(-1) for a, b in pairs])
    return change, np.linalg.norm(change.astype(np.float64))


def jump(fw, name, y, clip):
    fw.seed(0)
    model = getattr(fw.d2l, name)(*[2][: name.endswith("Scratch")], lr=1.0)
    return one_step(fw, model, y, clip)


@LINEAR
def test_clipping_bounds_the_joint_norm(fw, name):
    for clip in (0.5, 2.0):
        np.testing.assert_allclose(jump(fw, name, 1e6, clip)[1], clip, rtol=1e-3)


@LINEAR
def test_clipping_keeps_the_direction(fw, name):
    (free, size), (clipped, _) = (jump(fw, name, 100.0, clip) for clip in (0, 1.0))
    assert size > 100
    np.testing.assert_allclose(clipped, free / size, rtol=1e-3)


@LINEAR
def test_clipping_leaves_small_gradients_alone(fw, name):
    (free, size), (clipped, _) = (jump(fw, name, 0.1, clip) for clip in (0, 100.0))
    assert size > 0
    np.testing.assert_array_equal(clipped, free)


@LINEAR
def test_clipping_survives_gradients_whose_norm_overflows(fw, name):
    if fw.tab == "mxnet":
        pytest.skip("MXNet's sum of infinities is no number")
    _, size = jump(fw, name, 1e25, 1.0)
    assert np.isfinite(size) and size <= 1.001


def test_clipping_of_no_gradient(fw, d2l):
    class Still(d2l.LinearRegressionScratch):
        def loss(self, *args):
            return super().loss(*args) * 0

    assert one_step(fw, Still(2, lr=1.0), 1.0, 1.0)[1] == 0
