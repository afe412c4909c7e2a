"""The trainer, through models that the library defines."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

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


@GPUS
@LINEAR
def test_linear_regression_finds_the_truth(
    d2l, fw, fake_gpu, regression, name, num_gpus
):
    trainer = d2l.Trainer(max_epochs=3, num_gpus=num_gpus)
    fw.fit(trainer, linear(d2l, name), regression)
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)
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


def test_the_seed_decides_the_result(d2l, fw):
    def run(seed):
        fw.seed(seed)
        trainer = d2l.Trainer(max_epochs=1)
        fw.fit(trainer, d2l.MLP(10, 8, 0.1), d2l.Digits())
        return values(fw, trainer)

    for first, second in zip(run(1), run(1), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)


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


@pytest.mark.parametrize("parts", [0, -1])
def test_a_minibatch_has_at_least_one_part(d2l, parts):
    message = f"accumulate must be 1, 2, ..., not {parts}$"
    with pytest.raises(ValueError, match=message):
        d2l.Trainer(max_epochs=1, accumulate=parts)


def test_points_on_the_board(d2l, fw, regression):
    model = linear(d2l, "LinearRegressionScratch")
    fw.fit(d2l.Trainer(max_epochs=2), model, regression)
    train, val = model.board.data["train_loss"], model.board.data["val_loss"]
    assert [x for x, _ in val] == [1, 2]
    middle = sum(range(8)) / 8 / 16  # of the first half of an epoch
    np.testing.assert_allclose([x for x, _ in train], middle + np.arange(4) / 2)
    assert train[0][1] > train[-1][1]


def test_more_points_if_the_model_asks_for_them(d2l, fw, regression):
    model = linear(d2l, "LinearRegressionScratch")
    if fw.tab == "jax":
        object.__setattr__(model, "plot_train_per_epoch", 8)
    else:
        model.plot_train_per_epoch = 8
    fw.fit(d2l.Trainer(max_epochs=1), model, regression)
    assert len(model.board.data["train_loss"]) == 8


def test_fewer_minibatches_than_points(d2l, fw):
    data = d2l.SyntheticRegressionData(fw.tensor(W), B, num_train=10, num_val=10)
    model = linear(d2l, "LinearRegressionScratch")
    fw.fit(d2l.Trainer(max_epochs=3), model, data)
    assert len(model.board.data["train_loss"]) == 3


def test_without_validation_data(d2l, fw, regression):
    regression.val_dataloader = lambda: None
    model, trainer = linear(d2l, "LinearRegressionScratch"), d2l.Trainer(max_epochs=3)
    fw.fit(trainer, model, regression)
    assert list(model.board.data) == ["train_loss"]
    assert (trainer.num_val_batches, trainer.val_batch_idx) == (0, 0)
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)


def test_a_second_fit_starts_counting_again(d2l, fw, regression):
    model, trainer = linear(d2l, "LinearRegression"), d2l.Trainer(max_epochs=1)
    fw.fit(trainer, model, regression)
    fw.fit(trainer, model, regression)
    assert trainer.train_batch_idx == 16 and trainer.epoch == 0
    assert [x for x, _ in model.board.data["val_loss"]] == [1, 1]


def test_a_model_trained_on_the_cpu_trains_on_the_gpu(d2l, fw, fake_gpu, regression):
    model = linear(d2l, "LinearRegression")
    fw.fit(d2l.Trainer(max_epochs=1), model, regression)
    trainer = d2l.Trainer(max_epochs=3, num_gpus=1)
    fw.fit(trainer, model, regression)
    assert {fw.device(p) for p in fw.params(trainer)} == {fake_gpu}
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)


@LINEAR
def test_a_model_trained_on_the_gpu_trains_on_the_cpu(
    d2l, fw, fake_gpu, regression, name
):
    model = linear(d2l, name)
    fw.fit(d2l.Trainer(max_epochs=1, num_gpus=1), model, regression)
    trainer = d2l.Trainer(max_epochs=3)
    fw.fit(trainer, model, regression)
    assert {fw.device(p) for p in fw.params(trainer)} == {fw.device(fw.tensor(1.0))}
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)


def test_where_a_second_fit_begins(d2l, fw, fake_gpu, regression):
    class Watching(d2l.Trainer):
        def fit_epoch(self):
            starts.append(found(fw, self))
            super().fit_epoch()

    starts: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    model = linear(d2l, "LinearRegressionScratch")
    for num_gpus in (0, 1, 0):
        trainer = Watching(max_epochs=1, num_gpus=num_gpus)
        fw.fit(trainer, model, regression)
        ends.append(found(fw, trainer))
    if fw.tab == "jax":  # a Linen module holds no parameters: each fit makes new ones
        np.testing.assert_array_equal(starts[1:], starts[:-1])
    else:
        np.testing.assert_array_equal(starts[1:], ends[:-1])


def watching(fw, act):
    """Return a class of models that call `act(model, X, training)` in each step."""

    class Watching(fw.models.Layers):
        def training_step(self, *args):
            act(self, args[fw.tab == "jax"][0], True)
            return super().training_step(*args)

        def validation_step(self, *args):
            act(self, args[fw.tab == "jax"][0], False)
            super().validation_step(*args)

    return lambda *layers: Watching(layers, "sgd", 0.1)


def test_a_model_knows_its_mode(d2l, fw):
    modes = set()
    model = watching(fw, lambda model, _, mode: modes.add((fw.training(model), mode)))
    fw.fit(d2l.Trainer(max_epochs=2), model(8, 10), d2l.Digits(batch_size=479))
    assert modes == {(True, True), (False, False)}


def test_dropout_only_while_training(d2l, fw):
    def compare(model, X, training):
        same[training].append(np.array_equal(*(fw.numpy(model(X)) for _ in range(2))))

    same: dict = {True: [], False: []}
    if fw.tab != "jax":  # whose models are functions of a key: see test_jax.py
        model = watching(fw, compare)(16, 0.5, 10)
        fw.fit(d2l.Trainer(max_epochs=1), model, d2l.Digits(batch_size=479))
        assert same == {True: [False] * 3, False: [True]}


def test_training_changes_statistics_and_validation_does_not(d2l, fw):
    class Watching(d2l.Callback):
        def before_step(self, trainer, batch):
            seen.append([fw.numpy(a) for a in fw.statistics(trainer)])

        def after_step(self, trainer):
            self.before_step(trainer, None)

    seen: list = []
    trainer = d2l.Trainer(max_epochs=2, callbacks=[Watching()])
    model = fw.model(16, "norm", 10)
    fw.build(model, fw.tensor(np.ones((2, 64))))
    fw.fit(trainer, model, d2l.Digits(batch_size=800))
    last, first = seen[3], seen[4]  # of an epoch, and of the next one
    assert all(map(np.array_equal, last, first))
    assert not any(map(np.array_equal, seen[4], seen[5]))


def test_fit_epoch_of_a_subclass(d2l, fw, regression):
    class Patient(d2l.Trainer):
        def fit_epoch(self):
            if self.epoch < 2:
                super().fit_epoch()

    trainer = Patient(max_epochs=10)
    fw.fit(trainer, linear(d2l, "LinearRegressionScratch"), regression)
    assert trainer.train_batch_idx == 32


def test_prepare_batch_of_a_subclass(d2l, fw, regression):
    class Shifted(d2l.Trainer):
        def prepare_batch(self, batch):
            X, y = super().prepare_batch(batch)
            return X, y + 1

    trainer = Shifted(max_epochs=3)
    fw.fit(trainer, linear(d2l, "LinearRegression"), regression)
    np.testing.assert_allclose(found(fw, trainer), [*W, B + 1], atol=0.02)


def test_a_loader_of_ones_own(d2l, fw, regression):
    class Listed(d2l.DataModule):
        def get_dataloader(self, train):
            batches = list(regression.get_dataloader(train))
            return batches if train else batches[:3]

    trainer = d2l.Trainer(max_epochs=3)
    fw.fit(trainer, linear(d2l, "LinearRegressionScratch"), Listed())
    assert trainer.val_batch_idx == 9
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)


def recorded(monkeypatch, owner, name):
    """Let calls of `owner.name` go on as before, and return a list of arguments.

    Calls that it makes of itself are left out.
    """
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


def test_each_minibatch_is_moved_once(d2l, fw, fake_gpu, regression, monkeypatch):
    class Counting(d2l.Trainer):
        def fit_epoch(self):
            before = len(moves)
            super().fit_epoch()
            steps.append(len(moves) - before)

    moves, steps = recorded(monkeypatch, d2l, "move_to"), list[int]()
    model = linear(d2l, "LinearRegressionScratch")
    fw.fit(Counting(max_epochs=2, num_gpus=1), model, regression)
    assert steps == [20, 20]


def test_a_minibatch_stays_as_it_is_on_the_cpu(d2l, fw):
    x = fw.tensor([1, 2])
    moved = d2l.Trainer(max_epochs=1).prepare_batch((x, {"a": x}))
    assert moved[0] is x and moved[1]["a"] is x


def test_steps_get_their_minibatch_on_the_gpu(d2l, fw, fake_gpu, regression):
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

    model = linear(d2l, "LinearRegressionScratch")
    fw.fit(Watching(max_epochs=1, num_gpus=1), model, regression)
    assert got == [{fake_gpu}] * (16 + 4)


def test_a_nested_minibatch_is_moved_whole(d2l, fw, fake_gpu):
    x = fw.tensor([[1.0, 2.0]])
    trainer = d2l.Trainer(max_epochs=1, num_gpus=1)
    inputs, (y, [z]) = trainer.prepare_batch(({"a": x, "more": (x, x)}, (x, [x])))
    tensors = [inputs["a"], *inputs["more"], y, z]
    assert {fw.device(tensor) for tensor in tensors} == {fake_gpu}


class Relabeled:
    """Turns each minibatch (X, y) of `data` into `convert(X, y)`."""

    def __init__(self, data, convert):
        self.data, self.convert = data, convert

    def batches(self, train):
        return [self.convert(*batch) for batch in self.data.get_dataloader(train)]

    def train_dataloader(self):
        return self.batches(train=True)

    def val_dataloader(self):
        return self.batches(train=False)


@GPUS
def test_minibatches_that_are_dicts(d2l, fw, fake_gpu, regression, num_gpus):
    data = Relabeled(regression, lambda X, y: {"X": X, "y": y})
    trainer = d2l.Trainer(max_epochs=3, num_gpus=num_gpus)
    fw.fit(trainer, named(fw, d2l.LinearRegressionScratch)(2, lr=0.3), data)
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)


@GPUS
def test_minibatches_with_tuples_inside(d2l, fw, fake_gpu, regression, num_gpus):
    class Pairs(d2l.LinearRegressionScratch):
        def forward(self, halves):
            return super().forward(halves[0] + halves[1])

    data = Relabeled(regression, lambda X, y: ((X / 2, X / 2), y))
    trainer = d2l.Trainer(max_epochs=3, num_gpus=num_gpus)
    fw.fit(trainer, Pairs(2, lr=0.3), data)
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)


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
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)
    assert trainer.train_batch_idx == 3 * 16 and model.board.bar is None


def test_one_number_a_point_leaves_the_device(d2l, fw, fake_gpu, monkeypatch):
    model = d2l.MLP(num_outputs=10, num_hiddens=8, lr=0.1)
    drawn = recorded(monkeypatch, model.board, "draw")
    data = d2l.Digits()
    fetches = fw.count_fetches(monkeypatch)
    fw.fit(d2l.Trainer(max_epochs=2, num_gpus=1), model, data)
    points = sum(map(len, model.board.data.values()))
    assert points == 2 * (2 + 1 + 1)
    assert len(drawn) == 2 * (23 + 6 + 6)
    assert len(fetches) == points
    assert {fw.device(y) for _, y, *_ in drawn} == {fake_gpu}


class Jump:
    """Makes a trainer take one step of size 1, and measures it."""

    def __init__(self, fw, model, y, clip):
        d2l = fw.d2l
        self.fw, self.X = fw, fw.tensor([[3.0, 4.0]])
        self.y = fw.tensor([[y]])
        fw.build(model, self.X)
        self.trainer = self.make_trainer(d2l)(max_epochs=1, gradient_clip_val=clip)
        fw.fit(self.trainer, model, self)
        pairs = zip(self.trainer.before, values(fw, self.trainer), strict=True)
        self.change = np.concatenate([(b - a).reshape(-1) for a, b in pairs])

    def make_trainer(self, d2l):
        fw = self.fw

        class Remembering(d2l.Trainer):
            def fit_epoch(self):
                self.before = values(fw, self)
                super().fit_epoch()

        return Remembering

    def train_dataloader(self):
        return [(self.X, self.y)]

    def val_dataloader(self):
        return None

    @property
    def size(self):
        return np.linalg.norm(self.change.astype(np.float64))


def jump(fw, name, y, clip):
    fw.seed(0)
    model = getattr(fw.d2l, name)(*[2][: name.endswith("Scratch")], lr=1.0)
    return Jump(fw, model, y, clip)


@LINEAR
def test_clipping_bounds_the_joint_norm(fw, name):
    for clip in (0.5, 2.0):
        np.testing.assert_allclose(jump(fw, name, 1e6, clip).size, clip, rtol=1e-3)


@LINEAR
def test_clipping_keeps_the_direction(fw, name):
    free, clipped = jump(fw, name, 100.0, 0), jump(fw, name, 100.0, 1.0)
    assert free.size > 100
    np.testing.assert_allclose(clipped.change, free.change / free.size, rtol=1e-3)


@LINEAR
def test_clipping_leaves_small_gradients_alone(fw, name):
    free, clipped = jump(fw, name, 0.1, 0), jump(fw, name, 0.1, 100.0)
    assert free.size > 0
    np.testing.assert_array_equal(clipped.change, free.change)


@LINEAR
def test_clipping_survives_gradients_whose_norm_overflows(fw, name):
    if fw.tab == "mxnet":
        pytest.skip("MXNet's sum of infinities is no number")
    size = jump(fw, name, 1e25, 1.0).size
    assert np.isfinite(size) and size <= 1.001


def test_clipping_of_no_gradient(fw, d2l):
    class Still(d2l.LinearRegressionScratch):
        def loss(self, *args):
            return super().loss(*args) * 0

    model = Still(2, lr=1.0)
    assert Jump(fw, model, 1.0, 1.0).size == 0


@GPUS
def test_clipping_while_training(d2l, fw, fake_gpu, regression, num_gpus):
    trainer = d2l.Trainer(max_epochs=3, num_gpus=num_gpus, gradient_clip_val=1)
    fw.fit(trainer, linear(d2l, "LinearRegressionScratch"), regression)
    np.testing.assert_allclose(found(fw, trainer), [*W, B], atol=0.02)
