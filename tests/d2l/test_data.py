"""Data modules: shapes, order, seeds, and loaders of one's own."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

from functools import partial

import numpy as np
import pytest


def batches(fw, loader):
    return [tuple(fw.numpy(tensor) for tensor in batch) for batch in loader]


def joined(fw, loader, i=0):
    """Return the `i`th tensors of all minibatches, one after the other."""
    return np.concatenate([batch[i] for batch in batches(fw, loader)])


@pytest.fixture
def regression(d2l, fw):
    return d2l.SyntheticRegressionData(fw.tensor([2.0, -3.4]), 4.2)


def test_synthetic_data_follow_the_equation(fw, regression):
    X, y = fw.numpy(regression.X), fw.numpy(regression.y)
    assert X.shape == (2000, 2) and y.shape == (2000, 1)
    noise = y - X @ [[2.0], [-3.4]] - 4.2
    assert abs(noise.mean()) < 0.001 and abs(noise.std() - 0.01) < 0.001
    assert abs(X.mean()) < 0.1 and abs(X.std() - 1) < 0.1


def test_synthetic_data_of_other_sizes(d2l, fw):
    w = fw.tensor([1.0, 2, 3])
    data = d2l.SyntheticRegressionData(w, 0.0, 0.5, 10, 20, 4)
    train, val = data.train_dataloader(), data.val_dataloader()
    assert [len(b[0]) for b in batches(fw, train)] == [4, 4, 2]
    assert [b[0].shape[1] for b in batches(fw, val)] == [3] * 5
    assert (len(train), len(val)) == (3, 5)


def test_loader_has_all_examples_once_and_a_short_last_batch(fw, regression):
    loader = regression.train_dataloader()
    sizes = [X.shape for X, _ in batches(fw, loader)]
    assert len(loader) == len(sizes) == 32
    assert sizes == [(32, 2)] * 31 + [(8, 2)]
    seen = np.sort(joined(fw, loader), axis=0)
    np.testing.assert_array_equal(seen, np.sort(fw.numpy(regression.X)[:1000], axis=0))


def test_training_data_come_in_a_new_order_each_time(fw, regression):
    loader = regression.train_dataloader()
    first, second = joined(fw, loader), joined(fw, loader)
    assert not np.array_equal(first, fw.numpy(regression.X)[:1000])
    assert not np.array_equal(first, second)


def test_examples_keep_their_labels_when_shuffled(fw, regression):
    for X, y in batches(fw, regression.train_dataloader()):
        assert np.abs(X @ [[2.0], [-3.4]] + 4.2 - y).max() < 0.1


def test_validation_data_keep_their_order(fw, regression):
    loader = regression.val_dataloader()
    for _ in range(2):
        X = fw.numpy(regression.X)[1000:]
        np.testing.assert_array_equal(joined(fw, loader), X)


def test_the_seed_decides_the_order(d2l, fw):
    def order(seed):
        fw.seed(seed)
        return joined(fw, d2l.Digits().train_dataloader())

    np.testing.assert_array_equal(order(1), order(1))


def test_a_loader_may_have_a_seed_of_its_own(d2l, fw):
    def order(seed):
        loader = d2l.ArrayLoader((fw.tensor(range(9)),), 4, True, seed)
        return [joined(fw, loader).tolist() for _ in range(2)]

    if hasattr(d2l, "ArrayLoader"):  # where the framework has no loader of arrays
        assert order(1) == order(1) != order(2)
        assert order(1)[0] != order(1)[1]
        assert [sorted(epoch) for epoch in order(1)] == [[*range(9)]] * 2


def usual_loader(fw, arrays, train):
    """Return the framework's own loader, in minibatches of 8, or None."""
    if fw.tab == "pytorch":
        data = fw.torch.utils.data
        return data.DataLoader(data.TensorDataset(*arrays), 8, shuffle=train)
    if fw.tab == "mxnet" and not train:
        data = fw.mx.gluon.data
        return data.DataLoader(data.ArrayDataset(*arrays), 8, shuffle=False)
    if fw.tab == "tensorflow":
        data = fw.tf.data.Dataset.from_tensor_slices(arrays)
        return (data.shuffle(35) if train else data).batch(8)
    return None


@pytest.mark.parametrize("train", [True, False])
def test_minibatches_are_those_of_the_usual_loader(d2l, fw, train):
    arrays = fw.tensor(np.arange(70).reshape(35, 2)), fw.tensor(range(35), "int32")
    data, orders = d2l.DataModule(), []
    data.batch_size = 8
    for make in partial(usual_loader, fw), data.get_tensorloader:
        fw.seed(3)
        loader = make(arrays, train)
        if loader is None:
            return
        orders.append([batch for _ in range(2) for batch in batches(fw, loader)])
    assert len(orders[0]) == len(orders[1]) == 2 * 5
    for one, other in zip(*orders, strict=True):
        for expected, seen in zip(one, other, strict=True):
            assert expected.dtype == seen.dtype
            np.testing.assert_array_equal(expected, seen)


def test_digits(d2l, fw):
    data = d2l.Digits()
    train, val = data.train_dataloader(), data.val_dataloader()
    X, y = joined(fw, train), joined(fw, train, 1)
    assert X.shape == (1437, 64) and y.shape == (1437,)
    assert X.dtype == np.float32 and np.issubdtype(y.dtype, np.integer)
    assert X.min() == 0 and X.max() == 1 and set(y) == set(range(10))
    assert joined(fw, val).shape == (360, 64)
    assert (len(train), len(val)) == (23, 6)


def test_digits_are_split_the_same_way_each_time(d2l, fw):
    first = joined(fw, d2l.Digits().val_dataloader())
    fw.seed(5)
    np.testing.assert_array_equal(first, joined(fw, d2l.Digits(32).val_dataloader()))


def test_tensorloader_takes_any_number_of_tensors(d2l, fw):
    class Three(d2l.DataModule):
        def __init__(self):
            super().__init__()
            self.batch_size = 2
            self.tensors = [fw.tensor(range(i, i + 5)) for i in (0, 10, 20)]

        def get_dataloader(self, train):
            return self.get_tensorloader(self.tensors, train, slice(1, 4))

    data = Three()
    first, second = batches(fw, data.val_dataloader())
    np.testing.assert_array_equal(first, [[1, 2], [11, 12], [21, 22]])
    np.testing.assert_array_equal(second, [[3], [13], [23]])
    shuffled = np.concatenate(batches(fw, data.train_dataloader()), axis=1)
    np.testing.assert_array_equal(shuffled - shuffled[0], [[0] * 3, [10] * 3, [20] * 3])
    assert set(shuffled[0]) == {1, 2, 3}


def test_data_module_keeps_its_arguments_and_asks_for_a_loader(d2l):
    assert d2l.DataModule(root="there").root == "there"
    with pytest.raises(NotImplementedError):
        d2l.DataModule().train_dataloader()
