"""Roles, slide marks and texts for one medium."""

import pytest

from book.text.inline import (
    MEDIA,
    MarkupError,
    for_medium,
    replace_roles,
    roles,
    slide_marks,
    spans,
    without_slide_marks,
)


def test_roles_are_found_outside_of_code_and_equations():
    text = "See :numref:`a`, `:ref:` and $:x:`b`$ or\n:cite:`c, d`, \\`:ref:`e`."
    text += "\n``a`:x:`b` `` $$a\n\n:x:`b`$$ $a\n:x:`b`$ \\$:eqref:`f`$\n \n:a.b:`g`$"
    found = [(role.name, role.value, role.keys) for role in roles(text)]
    assert found == [
        ("numref", "a", ["a"]),
        ("cite", "c, d", ["c", "d"]),
        ("ref", "e", ["e"]),
        ("eqref", "f", ["f"]),
        ("a.b", "g", ["g"]),
    ]
    assert replace_roles("a :ref:`b` c", lambda role: role.value.upper()) == "a B c"


def test_slide_marks_begin_slides_or_add_to_them():
    text = "Say [**this**] and (~~only here~~), [**a link**](to)."
    text += " (** more **)(see [~~ a new slide ~~]) `[**`"
    marks = [(m.text, m.begins, m.only_on_slides) for m in slide_marks(text)]
    assert marks == [
        ("this", True, False),
        ("only here", False, True),
        ("more", False, False),
        ("a new slide", True, True),
    ]
    shown = "Say this and , [**a link**](to).  more (see ) `[**`"
    assert without_slide_marks(text) == shown


@pytest.mark.parametrize(
    ("text", "offset"),
    [("a [**b", 2), ("a **] b", 2), ("[**a [**b**]", 0), ("(**a**]", 0)],
)
def test_an_unclosed_slide_mark_is_reported_at_its_offset(text, offset):
    sign = text[offset : offset + 3]
    closes = f"'{sign}' closes no slide mark; remove it"
    opens = f"slide mark '{sign}' without its '**{']' if sign[0] == '[' else ')'}'"
    with pytest.raises(MarkupError) as error:
        slide_marks(text)
    assert error.value.offset == offset
    message = closes if sign == "**]" else f"{opens}; close it in this block"
    assert str(error.value) == message


def test_a_text_for_one_medium_is_omitted_from_the_others():
    text = (
        "Run it. [Press the [button](a.html).]{.web} [See page 3.]{.print .slide} End."
    )
    assert for_medium(text, "web") == "Run it. Press the [button](a.html). End."
    assert for_medium(text, "print") == "Run it. See page 3. End."
    assert for_medium(text, "slide") == for_medium(text, "print")
    assert for_medium(text, "notebook") == "Run it. End."
    assert [span.media for span in spans(text)] == [("web",), ("print", "slide")]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("A. [B.]{.web}\nC.", "A.\nC."),
        ("A.\n[B.]{.web} C.", "A.\n C."),
        ("A. [B.]{.web}", "A."),
        ("[A.]{.web} B.", " B."),
    ],
)
def test_lines_around_an_omitted_sentence_remain(text, printed):
    assert for_medium(text, "print") == printed


def test_code_that_looks_like_a_span_is_unchanged():
    text = "`x[0]{.web}` and $a[1]{.web}$"
    assert for_medium(text, "print") == text


def test_marks_of_numbers_are_dropped_in_all_media():
    text = "It takes [16 ms]{.measured\nwithin=30%}, not [20 ms]{.cited}."
    for medium in MEDIA:
        assert for_medium(text, medium) == "It takes 16 ms, not 20 ms."
    first, second = spans(text)
    assert (first.classes, first.attributes) == (("measured",), {"within": "30%"})
    assert (second.text, second.media, second.attributes) == ("20 ms", (), {})


def test_a_text_that_sets_a_figure_is_a_link_on_pages_alone():
    text = "Fetch [after [1]{.measured} `step`]{.play queue.every=1\nqueue.host=9}."
    link = "[after 1 `step`](?queue.every=1&queue.host=9)"
    assert for_medium(text, "web") == f"Fetch {link}."
    for medium in ("print", "slide", "notebook"):
        assert for_medium(text, medium) == "Fetch after 1 `step`."


def test_a_number_is_marked_within_a_text_for_one_medium():
    text = (
        "A. [Press it: [16 ms]{.measured}.]{.web} [B: [2]{.cited}.]{.print} [3]{.cited}"
    )
    assert for_medium(text, "web") == "A. Press it: 16 ms. 3"
    assert for_medium(text, "print") == "A. B: 2. 3"


def test_a_span_without_its_bracket_is_an_error():
    with pytest.raises(MarkupError) as error:
        for_medium("[no] bracket]{.web}", "web")
    message = "']{.web}' without its '['; add the bracket"
    assert (str(error.value), error.value.offset) == (message, 12)
