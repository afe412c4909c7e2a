"""Everything made from the book in `tests/golden/book` equals the expected files.

The text of that book says what it shows, so that a difference names what has changed.
"""

import pytest
from golden import made_up
from golden.made_up import MadeUp, difference

pytestmark = pytest.mark.xdist_group("the made-up book")
READ = "If this is wanted, see the beginning of tests/golden/made_up.py."


@pytest.mark.parametrize("product", made_up.PRODUCTS)
def test_the_made_up_book_becomes_what_it_was(
    made: MadeUp, product: str, pytestconfig: pytest.Config
):
    update = pytestconfig.getoption("--update")
    texts = list(made_up.PRODUCTS[product](made))
    changes = [difference(name, text, update) for name, text in texts]
    if any(changes):
        pytest.fail("\n\n".join([*filter(None, changes), READ]), pytrace=False)


def test_each_expected_text_is_compared(made: MadeUp):
    names = {name for texts in made_up.PRODUCTS.values() for name, _ in texts(made)}
    files = made_up.EXPECTED.rglob("*.*")
    found = {f.relative_to(made_up.EXPECTED).with_suffix("").as_posix() for f in files}
    assert found == names
