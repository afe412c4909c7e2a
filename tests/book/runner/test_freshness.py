"""A product is made again if its inputs have changed, and only then."""

import hashlib
from pathlib import Path

import pytest

from book.runner.freshness import Product, digest, digest_of_files


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path / "product", tmp_path / "deep/stamp")


def made(product: Product, inputs: str, *notes: str) -> bool:
    """Make a product unless it is fresh; return whether it was made."""
    if product.is_fresh(inputs):
        return False
    with product.made_from(inputs) as lines:
        product.path.write_text(f"from {inputs}")
        lines += notes
    return True


def test_a_product_is_made_again_only_if_its_inputs_change(product: Product):
    assert [made(product, inputs) for inputs in "aabba"] == [1, 0, 1, 0, 1]


def test_a_product_without_its_stamp_or_a_stamp_without_its_product_is_not_fresh(
    product: Product,
):
    for file in (product.path, product.stamp):
        made(product, "a")
        file.unlink()
        assert not product.is_fresh("a")


def test_a_product_that_could_not_be_made_is_not_fresh(product: Product):
    made(product, "a")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            with product.made_from("b"):
                product.path.write_text("half")
                raise error
        assert not product.is_fresh("a") and not product.is_fresh("b")


def test_a_stamp_keeps_the_notes_of_the_command(product: Product):
    made(product, "a", "one", "two words")
    assert product.notes == ["one", "two words"] and product.is_fresh("a")
    made(product, "b")
    assert product.notes == [] and product.stamp.read_text() == "b"


def test_different_lists_of_texts_have_different_digests():
    lists = (["ab"], ["a", "b"], ["b", "a"], ["a", "b", ""], ["1:a1:b", ""])
    assert len({digest(*parts) for parts in lists}) == 5
    assert digest("é", "\ud800") == digest("é".encode(), b"\xed\xa0\x80")


def test_the_digest_of_one_text_is_its_sha_256():
    assert digest("text") == hashlib.sha256(b"text").hexdigest() == digest(b"text")


def test_a_digest_of_files_has_their_names_and_contents(tmp_path: Path):
    (tmp_path / "in").mkdir()
    file, other = tmp_path / "in/a.py", tmp_path / "in/b.txt"
    file.write_text("x")
    before = digest_of_files(tmp_path, "in/*.py", "*/a.py")
    other.write_text("not asked for")
    assert digest_of_files(tmp_path, "in/*.py") == before
    file.write_text("y")
    assert digest_of_files(tmp_path, "in/*.py") != before
    file.write_text("x")
    file.rename(tmp_path / "in/c.py")
    assert digest_of_files(tmp_path, "in/*.py") != before
