"""Pictures as pages and slides show them."""

from book.records.outputs import Picture
from book.render import pictures
from book.text.blocks import Cell


def test_the_description_of_a_picture_is_that_of_its_record_first():
    cell = Cell(
        line=1, source="x", number=1, code="x", rows=(1,), attributes={"alt": "a"}
    )
    own = pictures.shown(Picture("image/png", "QUJD", "its\nown"), cell)
    assert own == Picture("image/png", "QUJD", "its own")
    assert pictures.shown(Picture("image/png", "QUJD"), cell).alt == "a"
