"""Fashion-MNIST, from files in its format with a few images of noise."""

# The fixture d2l is a module, and mypy does not know its classes.
# mypy: disable-error-code="name-defined"

import gzip
import hashlib
import io
from urllib.error import URLError

import numpy as np
import pytest
from matplotlib import pyplot as plt

from d2l import fashion_mnist

SIZES = {"train": 30, "t10k": 12}
ADDRESS = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"


def contents(kind, n):
    """Return the names of two files and what they contain, compressed."""
    rng = np.random.default_rng(n)
    images = rng.integers(0, 256, (n, 28, 28), "uint8")
    labels = np.arange(n, dtype="uint8") % 10
    headers = {
        "images-idx3": np.array([0x803, n, 28, 28], ">i4").tobytes(),
        "labels-idx1": np.array([0x801, n], ">i4").tobytes(),
    }
    data = {"images-idx3": images.tobytes(), "labels-idx1": labels.tobytes()}
    return {
        f"{kind}-{part}-ubyte.gz": gzip.compress(header + data[part])
        for part, header in headers.items()
    }


@pytest.fixture
def files(d2l, monkeypatch, tmp_path):
    """The four files by name; `d2l` looks for them in tmp_path/data."""
    found = {k: v for kind, n in SIZES.items() for k, v in contents(kind, n).items()}
    assert list(found) == list(fashion_mnist.FASHION_MNIST)
    sums = {name: hashlib.md5(data).hexdigest() for name, data in found.items()}
    monkeypatch.setattr(fashion_mnist, "FASHION_MNIST", sums)
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    return found


@pytest.fixture
def folder(files, tmp_path):
    """The folder, with the four files in it."""
    folder = tmp_path / "data" / "fashion-mnist"
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def network(d2l, files, monkeypatch):
    """The names of the files that are downloaded."""
    downloaded = []

    def download(url, timeout):
        assert url.startswith(ADDRESS) and 0 < timeout < 600
        name = url.removeprefix(ADDRESS)
        downloaded.append(name)
        return io.BytesIO(files[name])

    monkeypatch.setattr(fashion_mnist, "urlopen", download)
    return downloaded


@pytest.fixture
def offline(d2l, monkeypatch):
    def refuse(url, timeout):
        raise URLError("Network is unreachable")

    monkeypatch.setattr(fashion_mnist, "urlopen", refuse)


def serial(data):
    """Return the data module; without processes of its own, to save time."""
    data.num_workers = 0
    return data


def joined(fw, loader):
    parts = [map(fw.numpy, batch) for batch in loader]
    return [np.concatenate(p) for p in zip(*parts, strict=True)]


def pixels(fw, X):
    """Return images as an array of shape (examples, height, width)."""
    axis = 1 if fw.tab in ("pytorch", "mxnet") else 3
    assert X.shape[axis] == 1
    return X.squeeze(axis)


def test_images_and_labels(d2l, fw, folder, offline):
    data = serial(d2l.FashionMNIST(batch_size=8))
    assert (len(data.train), len(data.val)) == (30, 12) or fw.tab != "pytorch"
    X, y = joined(fw, data.val_dataloader())
    raw = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())[16:]
    expected = np.frombuffer(raw, "uint8").reshape(12, 28, 28) / 255
    np.testing.assert_allclose(pixels(fw, X), expected, rtol=1e-6)
    assert X.dtype == np.float32 and np.issubdtype(y.dtype, np.integer)
    assert y.tolist() == [*range(10), 0, 1]
    assert [len(data.train_dataloader()), len(data.val_dataloader())] == [4, 2]


def test_training_images_are_shuffled_with_their_labels(d2l, fw, folder):
    data = serial(d2l.FashionMNIST(batch_size=8))
    X, y = joined(fw, data.train_dataloader())
    raw = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16:]
    rows = [row.tobytes() for row in np.frombuffer(raw, "uint8").reshape(30, -1)]
    seen = [np.round(255 * image).astype("uint8").tobytes() for image in pixels(fw, X)]
    assert sorted(seen) == sorted(rows) and seen != rows
    assert [rows.index(row) % 10 for row in seen] == y.tolist()


@pytest.mark.parametrize("size", [(32, 32), (14, 14), (20, 36)])
def test_resized_images(d2l, fw, folder, size):
    data, original = (
        serial(d2l.FashionMNIST(batch_size=8, **options))
        for options in ({"resize": size}, {})
    )
    X, _ = joined(fw, data.val_dataloader())
    Y, _ = joined(fw, original.val_dataloader())
    assert X.shape[0] == 12 and pixels(fw, X).shape[1:] == size
    assert X.dtype == np.float32 and X.min() >= 0 and X.max() <= 1
    np.testing.assert_allclose(
        pixels(fw, X).mean((1, 2)), pixels(fw, Y).mean((1, 2)), atol=0.03
    )


def test_a_model_trains_on_it(d2l, fw, folder):
    class Flat(d2l.MLP):
        def forward(self, X):
            return super().forward(d2l.reshape(X, (-1, 28 * 28)))

    model = Flat(10, 8, 0.1)
    fw.fit(d2l.Trainer(max_epochs=2), model, d2l.FashionMNIST(batch_size=10))
    assert np.isfinite([p.y for p in model.board.data["val_loss"]]).all()
    assert len(model.board.data["val_acc"]) == 2


def test_names_of_labels(d2l, fw, folder):
    data = d2l.FashionMNIST()
    assert data.text_labels(fw.tensor([0, 9], "int32")) == ["t-shirt", "ankle boot"]
    assert data.text_labels([3]) == ["dress"]


def titles():
    return [ax.get_title() for ax in plt.gcf().axes]


def test_a_minibatch_is_shown(d2l, fw, folder):
    data = serial(d2l.FashionMNIST(batch_size=10, resize=(32, 32)))
    X, y = next(iter(data.val_dataloader()))
    data.visualize([X, y])
    assert titles() == data.text_labels(y)[:8] == data.text_labels(range(8))
    images = [ax.images[0].get_array() for ax in plt.gcf().axes]
    np.testing.assert_array_equal(images, pixels(fw, fw.numpy(X))[:8])
    data.visualize([X[:3], y[:3]], nrows=2, ncols=2, labels=["a", "b", "c"])
    assert titles() == ["a", "b", "c", ""]


def test_files_are_downloaded_once(d2l, files, network, tmp_path):
    d2l.FashionMNIST()
    assert sorted(network) == sorted(2 * list(files))[::2]
    folder = tmp_path / "data" / "fashion-mnist"
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == files
    network.clear()
    d2l.FashionMNIST()
    assert network == []


def test_only_missing_files_are_downloaded(d2l, files, network, folder):
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    d2l.FashionMNIST()
    assert network == ["t10k-labels-idx1-ubyte.gz"]


def test_without_a_network_one_line_says_what_to_do(d2l, files, offline, tmp_path):
    with pytest.raises(OSError) as raised:
        d2l.FashionMNIST()
    message = str(raised.value)
    assert message == (
        f"cannot download {ADDRESS}train-images-idx3-ubyte.gz (<urlopen error Network "
        "is unreachable>); put the four files of that address into "
        f"{tmp_path / 'data' / 'fashion-mnist'}"
    )
    assert raised.value.__suppress_context__


def test_a_damaged_file(d2l, files, network, folder):
    path = folder / "train-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(OSError) as raised:
        d2l.FashionMNIST()
    assert str(raised.value) == f"{path} is damaged; delete it and try again"
    path.unlink()
    d2l.FashionMNIST()
    assert path.read_bytes() == files[path.name]


def test_a_damaged_download_is_not_kept(d2l, files, monkeypatch, tmp_path):
    def page(url, timeout):
        return io.BytesIO(b"<html>Please log in to this network</html>")

    monkeypatch.setattr(fashion_mnist, "urlopen", page)
    with pytest.raises(OSError) as raised:
        d2l.FashionMNIST()
    name = "train-images-idx3-ubyte.gz"
    assert str(raised.value) == (
        f"{ADDRESS}{name} arrived damaged; check the network and try again"
    )
    assert not (tmp_path / "data").exists()


def test_show_images(d2l, fw):
    images = [fw.tensor(np.eye(3)), np.ones((2, 2)), np.zeros((5, 6, 3))]
    axes = d2l.show_images(images, 2, 2, titles=["a", "b", "c"], scale=1)
    assert len(axes) == 4 and list(plt.gcf().get_size_inches()) == [2, 2]
    assert titles() == ["a", "b", "c", ""]
    shown = [ax.images[0].get_array() for ax in axes[:3]]
    np.testing.assert_array_equal(shown[0], np.eye(3))
    assert shown[2].shape == (5, 6, 3) and not axes[3].images
