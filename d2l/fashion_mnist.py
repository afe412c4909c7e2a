"""Downloads Fashion-MNIST, 70 000 images of clothes, 31 MB."""

import gzip
import hashlib
from pathlib import Path
from urllib.request import urlopen

import numpy as np

FASHION_MNIST = {  # names of the files, with their MD5 sums
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}


def fetch_fashion_mnist(root: str) -> dict[str, bytes]:
    """Return the contents of the files of Fashion-MNIST by name, unpacked.

    Files that are not in the folder `root` are downloaded to it. Raises OSError if
    that fails.
    """
    url = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"
    folder = Path(root).resolve() / "fashion-mnist"
    contents = {}
    for name, md5 in FASHION_MNIST.items():
        path = folder / name
        try:
            data = (
                path.read_bytes()
                if path.exists()
                else urlopen(url + name, timeout=60).read()
            )
        except OSError as error:
            raise OSError(
                f"cannot download {url}{name} ({error}); put the four "
                f"files of that address into {folder}"
            ) from None
        if hashlib.md5(data).hexdigest() != md5:
            raise OSError(
                f"{path} is damaged; delete it and try again"
                if path.exists()
                else f"{url}{name} arrived damaged; check the network and try again"
            )
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        contents[name] = gzip.decompress(data)
    return contents


def load_fashion_mnist(root: str, train: bool) -> tuple:
    """Return images of shape (examples, 28, 28) and labels, arrays of bytes."""
    files, kind = fetch_fashion_mnist(root), "train" if train else "t10k"
    images = np.frombuffer(files[f"{kind}-images-idx3-ubyte.gz"], "uint8", offset=16)
    labels = np.frombuffer(files[f"{kind}-labels-idx1-ubyte.gz"], "uint8", offset=8)
    return images.reshape(-1, 28, 28), labels
