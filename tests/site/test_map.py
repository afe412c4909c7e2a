"""Readers find sections by a map of the machine, and choose a card for all figures."""

import re

import pytest
from browsing import TOUCH_SCREEN, WIDE, Visitor
from playwright.sync_api import Locator, Page, Route, expect

SERVER, ROOFLINE = "inference", "performance"


def figure(page: Page, name: str) -> Locator:
    """Return an interactive figure, once it is."""
    found = page.locator(f"figure[data-explorable={name}]:not([data-settings])")
    found.scroll_into_view_if_needed()
    expect(found.locator("> .explorable")).to_have_count(1)
    return found


# The map


def test_lists_of_sections_open_by_keyboard(open_page: Visitor):
    page = open_page("index.html")
    machine = figure(page, "map")
    page.locator(".machine summary", has_text="Link").press("Enter")
    expect(page.locator("#part-link").get_by_role("link").first).to_be_visible()
    expect(machine.locator(".result")).to_contain_text("every byte from the host")
    page.locator(".machine summary", has_text="SMs").press("Enter")
    expect(page.locator("#part-link")).to_be_hidden()
    expect(machine.get_by_label("Part", exact=True)).to_have_value("sm")
    page.locator(".machine summary", has_text="SMs").press("Enter")
    expect(machine.get_by_label("Part", exact=True)).to_have_value("none")


def test_a_part_opens_its_sections(open_page: Visitor):
    page = open_page("index.html", **TOUCH_SCREEN)
    figure(page, "map").locator("[data-touch=shared]").tap()
    links = page.locator("#part-shared").get_by_role("link")
    expect(links).to_contain_text(["Tiles", "Asynchronous"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_lists_of_sections_need_no_script(open_page: Visitor):
    page = open_page("index.html", java_script_enabled=False)
    page.locator(".machine summary", has_text="GPU memory").click()
    page.locator("#part-memory a", has_text="Does It Fit").click()
    expect(page).to_have_url(re.compile("does-it-fit.html"))


TOLD = "drawing => drawing.outerHTML.replaceAll('&nbsp;', '\xa0')"


def test_the_picture_does_not_answer_before_the_figure_asks(open_http_page: Visitor):
    held: list[Route] = []
    context = open_http_page.context(viewport=WIDE)
    context.route("**/explorables/map.js", lambda route: held.append(route))
    page = context.new_page()
    page.goto(f"{open_http_page.base}index.html", wait_until="commit")
    picture = page.locator("figure[data-explorable=map] > img")
    expect(picture).to_have_css("visibility", "hidden")
    expect(picture).to_have_css("visibility", "visible", timeout=10_000)  # none came
    held.pop().continue_()
    expect(figure(page, "map").locator(".drawing")).to_be_visible()


TRAVELS = "drawing => !!drawing.querySelector('.s2.solid[width=\"18\"]')"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_array_shows_the_way_once(open_http_page: Visitor, motion: str):
    page = open_http_page("index.html", reduced_motion=motion)
    drawing = figure(page, "map").locator(".drawing")
    drawing.locator("svg").wait_for()
    page.wait_for_timeout(500)
    assert drawing.evaluate(TRAVELS) == (motion != "reduce")
    if motion != "reduce":
        assert "3.35" not in drawing.evaluate(TOLD)
        page.wait_for_timeout(5000)
        assert not drawing.evaluate(TRAVELS)


def test_an_array_travels_there_and_back(open_http_page: Visitor):
    page = open_http_page("index.html", reduced_motion="reduce")
    machine = figure(page, "map")
    guess = machine.get_by_label("Your guess", exact=True)
    guess.press("End")
    expect(machine.locator(".result")).to_contain_text("1000 times as long over")
    told = machine.locator(".drawing").evaluate(TOLD)
    assert "?\xa0GB/s" in told and "?\xa0TB/s" in told and "3.35" not in told
    machine.get_by_role("button", name="Send the array").click()
    result = machine.locator(".result")
    expect(result).to_contain_text("52 times: you guessed 1000, too large")
    told = machine.locator(".drawing").evaluate(TOLD)
    assert "64\xa0GB/s" in told and "3.35\xa0TB/s" in told and "?" not in told
    machine.locator("[data-touch=memory]").first.click()
    expect(machine.locator(".result")).to_contain_text("read")


# The card


def choose(page: Page, name: str, card: str, label: str = "Card") -> None:
    chosen = figure(page, name)
    folded = chosen.locator(".explorable details")
    folded.evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    chosen.get_by_label(label, exact=True).select_option(card)


def test_a_card_is_chosen_once_and_forgotten(open_http_page: Visitor):
    page = open_http_page("index.html")
    choose(page, "map", "rtx4090")
    page = open_http_page(f"chapter_gpus/{SERVER}.html?predict=off")
    server = figure(page, "server")
    expect(server.locator(".result")).to_contain_text("RTX 4090")
    expect(server.locator(".actions", has_text="Your card")).to_be_visible()
    server.get_by_role("button", name="Change").click()
    expect(server.get_by_label("Card", exact=True)).to_be_focused()
    server.get_by_role("button", name="Forget").click()
    expect(server.locator(".result")).to_contain_text("H100")
    expect(server.get_by_role("button", name="Forget")).to_be_hidden()
    expect(server.get_by_role("button", name="Reset")).to_be_hidden()
    page.goto(f"{open_http_page.base}index.html")
    expect(figure(page, "map").get_by_label("Card", exact=True)).to_have_value("h100")


def test_all_figures_of_a_page_show_the_card(open_http_page: Visitor):
    page = open_http_page("index.html")
    choose(page, "map", "a100")
    other = open_http_page(f"chapter_gpus/{ROOFLINE}.html?predict=off")
    roofline = figure(other, "roofline")
    expect(roofline.locator(".result")).to_contain_text("On the A100")
    # A machine of the reader's own is none that other figures have.
    choose(other, "roofline", "own", "Machine")
    expect(roofline.locator(".actions", has_text="not the card")).to_be_visible()
    page.reload()
    expect(figure(page, "map").get_by_label("Card", exact=True)).to_have_value("a100")


def test_an_address_that_sets_a_figure_wins(open_http_page: Visitor):
    page = open_http_page("index.html")
    choose(page, "map", "t4")
    page = open_http_page(f"chapter_gpus/{SERVER}.html?predict=off&server.users=128")
    server = figure(page, "server")
    expect(server.locator(".result")).to_contain_text("the H100 generates")
    expect(server.locator(".actions", has_text="not the card")).to_be_visible()
    choose(page, "server", "b200")  # but a choice there is one for all
    page = open_http_page("index.html")
    expect(figure(page, "map").get_by_label("Card", exact=True)).to_have_value("b200")


def test_a_figure_of_a_cell_keeps_its_settings(open_http_page: Visitor):
    page = open_http_page("index.html")
    choose(page, "map", "t4")
    page = open_http_page("chapter_gpus/memory.html?tab=pytorch&predict=off")
    given = page.locator("[data-explorable=memory-timeline][data-settings]")
    # It has no height before it is in view.
    given.first.evaluate("figure => figure.scrollIntoView()")
    expect(given.first.locator(".result")).to_contain_text("RTX 4090")
    expect(given.first.get_by_role("button", name="Forget")).to_be_hidden()
