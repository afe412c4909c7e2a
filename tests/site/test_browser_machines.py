"""The switch between machines, in the made-up book."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest
from browsing import (
    TOUCH_SCREEN,
    Violations,
    Visitor,
    choose,
    chosen,
    probe,
    reload,
    served,
)
from golden.made_up import MACHINES, MadeUp
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.xdist_group("the pages of the made-up book")
SECTION = "chapter/outputs.html"
CPU, GPU = "cpu", "h200"
SWITCH = "[data-axis=machine] > .tab-list:visible"


@pytest.fixture
def open_page(browser: Browser, made: MadeUp) -> Iterator[Visitor]:
    with served(made.site) as url, closing(Visitor(browser, url)) as visitor:
        yield visitor


def test_a_click_chooses_in_every_set_for_good(open_page: Visitor):
    page = open_page(SECTION)
    assert chosen(page, "machine") == CPU and probe(page, "wrongTabs") == []
    page.click(f"{SWITCH} > [data-choice={GPU}]")
    assert f"machine={GPU}" in page.url
    for revisit in (
        partial(reload, page),
        partial(page.goto, open_page.base + SECTION),
    ):
        assert chosen(page, "machine") == GPU and probe(page, "wrongTabs") == []
        revisit()
    assert page.evaluate("localStorage.getItem('machine')") == GPU
    choose(page, "jax")
    assert chosen(page, "machine") == GPU and probe(page, "wrongTabs") == []


@pytest.mark.parametrize("named, machine", [(CPU, CPU), (GPU, GPU), ("nonsense", CPU)])
def test_the_address_chooses_a_machine(open_page: Visitor, named: str, machine: str):
    page = open_page(f"{SECTION}?machine={named}&tab=jax")
    assert (chosen(page), chosen(page, "machine")) == ("jax", machine)
    assert probe(page, "wrongTabs") == []


def test_the_switch_works_by_keyboard(open_page: Visitor):
    page = open_page(SECTION)
    page.focus(f"{SWITCH} > [aria-selected=true]")
    moves = [("End", 2), ("Home", 0), ("ArrowLeft", 2)]
    for key, place in [*moves, *(("ArrowRight", n) for n in range(3))]:
        page.keyboard.press(key)
        focused = page.evaluate("document.activeElement.dataset.choice")
        assert focused == chosen(page, "machine") == [*MACHINES][place], key
    page.keyboard.press("m")
    assert chosen(page, "machine") == CPU and probe(page, "wrongTabs") == []


@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_nothing_jumps_when_the_machine_changes(open_page: Visitor, tab: str):
    assert probe(open_page(f"{SECTION}?tab={tab}"), "jumps", "machine") == []


def test_outputs_of_every_machine_are_there_without_script(open_page: Visitor):
    page = open_page(SECTION, java_script_enabled=False)
    labels = page.locator("[data-axis=machine] > .tab-panel > .tab-label")
    assert labels.count() and all(label.is_visible() for label in labels.all())
    assert "CPU" in labels.all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_switch(
    open_page: Visitor, violations: Violations, scheme: str
):
    page = open_page(f"{SECTION}?machine={GPU}", color_scheme=scheme)
    assert violations(page, colors=scheme == "dark") == []


def test_a_thumb_can_use_the_switch(open_page: Visitor):
    page: Page = open_page(SECTION, **TOUCH_SCREEN)
    boxes = [button.bounding_box() for button in page.locator(f"{SWITCH} > *").all()]
    assert boxes and all(box and box["height"] >= 44 for box in boxes)
