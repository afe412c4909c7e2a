"""Search and previews in a browser, by keyboard and mouse, from a disk and by HTTP."""

import csv
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import PAGES, PHONE, TABS, TOUCH_SCREEN, Visitor, hold_up
from bs4 import BeautifulSoup
from playwright.sync_api import Page, Route, expect

from book.pages import search_index

SECTION = "chapter_gpus/use-gpu.html"
Entry = dict[str, Any]
# A reference to something that a preview shows, on its own page or on another.
PREVIEWED = (
    'main a.reference.internal[href*="#fig-"]:visible,'
    ' main a[href*="references.html#"]:visible'
)


def data_of(site: Path) -> str:
    """Return the data of the search, as JSON."""
    text = (site / "_static/search-data.js").read_text("utf-8")
    return json.loads(text.removeprefix("bookSearchData = ").removesuffix(";\n"))


@pytest.fixture(scope="session")
def entries(site: Path) -> list[Entry]:
    """Return all entries of the search index."""
    pages = json.loads(data_of(site))["pages"].items()
    return [{"page": page, **entry} for page, found in pages for entry in found]


@pytest.fixture
def page(open_page: Visitor) -> Page:
    return open_page(SECTION)


def search(page: Page, query: str) -> None:
    """Open the search if it is not, ask for `query` and wait for the answer."""
    if not page.locator("dialog.search[open]").count():
        page.keyboard.press("Control+k")
    page.locator("dialog.search input").fill(query)
    answered = re.compile(r"result|Nothing found")
    expect(page.locator(".search-status")).to_have_text(answered)
    expect(page.locator("#search-results:not([aria-busy])")).to_be_attached()


def saved_names(entries: list[Entry]) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        if entry["kind"] == "tab":
            yield from ((name, entry) for name in entry.get("names", []))


@pytest.mark.parametrize("way", ["/", "Control+k", "button"])
def test_the_search_opens_with_the_words_to_be_typed(page: Page, way: str):
    if way == "button":
        page.click("#search-button")
    else:
        page.keyboard.press(way)
    box = page.get_by_role("combobox", name="Search the book")
    expect(box).to_be_focused()
    expect(box).to_have_value("")
    expect(page.locator("#search-results")).to_be_hidden()


def test_results_are_counted_and_their_excerpts_hold_the_words(page: Page):
    search(page, "copy tensors")
    count = page.locator("#search-results [role=option]").count()
    assert count > 1
    # Of very many, some are shown, and it is said how many there are.
    told = re.compile(rf"^({count} results|The first {count} of \d+ results)$")
    expect(page.locator("dialog").get_by_role("status")).to_have_text(told)
    for option in page.locator("#search-results [role=option]").all():
        assert option.locator("mark").count(), option.inner_text()
        text = option.locator(".search-excerpt").inner_text()
        assert len(text) < 200, text


def test_arrows_home_and_end_choose_among_the_results(page: Page):
    search(page, "gpu")
    options = page.locator("#search-results [role=option]")
    last = options.count() - 1
    assert last > 1
    moves = [("ArrowDown", 1), ("End", last), ("ArrowDown", 0), ("ArrowUp", last)]
    expect(options.nth(0)).to_have_attribute("aria-selected", "true")
    for key, place in [*moves, ("Home", 0)]:
        page.keyboard.press(key)
        expect(options.nth(place)).to_have_attribute("aria-selected", "true")
        expect(options.nth(place)).to_be_in_viewport()
        identity = options.nth(place).get_attribute("id") or ""
        box = page.get_by_role("combobox", name="Search the book")
        expect(box).to_have_attribute("aria-activedescendant", identity)
    assert page.locator("#search-results [aria-selected=true]").count() == 1


def test_enter_leads_to_a_heading_of_another_page(page: Page, entries: list[Entry]):
    away = next(
        e
        for e in entries
        if e["kind"] == "section" and len(e["trail"]) > 1 and e["page"] != SECTION
    )
    heading = away["trail"][-1].lstrip("0123456789. ")
    search(page, heading)
    options = page.locator("#search-results [role=option]")
    place = next(
        i
        for i, option in enumerate(options.all())
        if (option.get_attribute("href") or "").endswith(f"#{away['anchor']}")
    )
    for _ in range(place):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{away['page']}*#{away['anchor']}")
    expect(page.locator(f'[id="{away["anchor"]}"]')).to_be_in_viewport()


def test_a_result_on_the_same_page_loads_nothing(page: Page, entries: list[Entry]):
    here = [e for e in entries if e["page"] == SECTION and e["kind"] == "section"]
    page.evaluate("window.stays = true")
    search(page, here[2]["trail"][-1].lstrip("0123456789. "))
    page.locator(f"#search-results a[href='#{here[2]['anchor']}']").click()
    expect(page.locator("dialog.search")).to_be_hidden()
    expect(page.locator(f'[id="{here[2]["anchor"]}"]')).to_be_in_viewport()
    assert page.evaluate("window.stays")


def test_a_name_that_one_framework_has_leads_into_its_tab(
    page: Page, entries: list[Entry]
):
    reader = TABS[0]
    # If a panel of the reader mentions the name, it comes before that of another tab.
    panels = [e for e in entries if reader in e.get("tabs", TABS)]
    words = " ".join(f"{e.get('text')} {e.get('code')}" for e in panels)
    name, entry = next(
        (n, e)
        for n, e in saved_names(entries)
        if n not in words and len(n) > 5 and "_" in n
    )
    search(page, name)
    first = page.locator("#search-results [role=option]").first
    expect(first.locator(".search-badge")).to_be_visible()
    address = f"?tab={entry['tabs'][0]}#{entry['anchor']}"
    page.locator(f"#search-results a[href$='{entry['page']}{address}']").click()
    page.wait_for_url(f"**/{entry['page']}{address}")
    assert page.evaluate("document.documentElement.dataset.tab") in entry["tabs"]
    expect(page.locator(f"#{entry['anchor']}")).to_be_visible()


@pytest.mark.parametrize("tab", TABS)
def test_the_readers_framework_comes_first(open_http_page: Visitor, tab: str):
    page = open_http_page(f"{SECTION}?tab={tab}")
    search(page, "try_gpu")
    page.wait_for_selector("#search-results [role=option]")
    places = page.evaluate("""() => [...document.querySelectorAll("#search-results a")]
      .map((a) => a.getAttribute("href"))""")
    elsewhere = ["?tab=" in place for place in places]
    # Only what needs another tab names one, and stands last.
    assert elsewhere == sorted(elsewhere) and not elsewhere[0]
    name = page.locator(f"#frameworks label:has([value={tab}])").inner_text()
    badges = page.locator("#search-results .search-badge").all_inner_texts()
    assert any(name in badge for badge in badges)


@pytest.mark.parametrize("name", ["try_gpu", "Timer"])
def test_a_name_of_the_library_leads_to_its_definition(
    page: Page, entries: list[Entry], name: str
):
    anchors = [f"#{e['anchor']}" for e in entries if name in e.get("names", [])]
    search(page, f"d2l.{name}")
    href = page.locator(FIRST).get_attribute("href") or ""
    assert anchors and href.endswith(tuple(anchors))


def test_a_name_of_the_second_framework_keeps_the_comparison(open_http_page: Visitor):
    for section in (SECTION, "chapter_gpus/memory.html"):
        page = open_http_page(f"{section}?tab=pytorch&beside=jax")
        search(page, "jax.device_put")
        page.keyboard.press("Enter")
        expect(page.locator("dialog.search")).to_be_hidden()
        page.wait_for_url("**#*")
        page.wait_for_load_state()
        data = page.evaluate("({ ...document.documentElement.dataset })")
        assert (data["tab"], data["beside"]) == ("pytorch", "jax"), section


def test_a_name_on_the_page_loads_nothing(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab=jax")
    page.evaluate("window.stays = true")
    search(page, "FakeTensorMode")
    link = page.locator("#search-results a[href^='#panel-']").first
    anchor = link.get_attribute("href") or ""
    link.click()
    expect(page.locator(anchor)).to_be_in_viewport()
    assert page.evaluate("window.stays")


FIRST = "#search-results [role=option] >> nth=0"


@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_a_name_leads_to_code_first(open_http_page: Visitor, tab: str):
    page = open_http_page(f"{SECTION}?tab={tab}")
    search(page, "device_put")
    expect(page.locator(FIRST).locator("code mark").first).to_have_text("device_put")
    kinds = page.locator("#search-results .search-badge").all_inner_texts()
    assert "Source" not in kinds[:5]


@pytest.mark.parametrize("query", ["OOM", "out of memory", "CUDA OOM"])
def test_a_short_form_finds_what_it_stands_for(open_http_page: Visitor, query: str):
    page = open_http_page(SECTION)
    search(page, query)
    expect(page.locator(FIRST).locator(".search-trail")).to_contain_text(
        "Out of Memory"
    )


def test_vram_is_the_memory_of_a_gpu(open_http_page: Visitor):
    page = open_http_page(SECTION)
    search(page, "VRAM")
    page.wait_for_selector(FIRST)
    trails = page.locator("#search-results .search-trail").all_inner_texts()
    assert any("Memory" in trail for trail in trails[:3])


def marked(page: Page) -> set[str]:
    marks = page.locator("#search-results mark").all_inner_texts()
    return {mark.lower() for mark in marks}


@pytest.mark.parametrize(
    ("query", "found", "missing"),
    [
        ("copy tensors", {"copy", "tensor"}, {}),
        ("copy tensor", {"tensors"}, {}),
        # Words without a meaning of their own
        ("out of memory", {"memory"}, {"of"}),
        # Names, whole and by their parts
        *((name, {"try_gpu"}, {}) for name in ("try gpu", "TRY_GPU()", "d2l.try_gpu")),
        # Similar words are found if nothing else is, and only the word that is typed
        # is the beginning of others.
        ("paramters", {"parameters"}, {}),
        ("mac mps", {"mps"}, {"machine"}),
        ("mps mac", {}, {"machine"}),
        ("gradient accumul", {"accumulation"}, {}),
    ],
)
def test_words_of_a_query_are_marked(
    open_http_page: Visitor, query: str, found: set[str], missing: set[str]
):
    page = open_http_page(SECTION)
    search(page, query)
    expect(page.locator("#search-results mark").first).to_be_visible()
    assert marked(page) >= set(found) and not marked(page) & set(missing)


@pytest.mark.parametrize("query", ["OOM", "TPU", "sgd"])
def test_short_words_find_no_similar_words(open_http_page: Visitor, query: str):
    page = open_http_page(SECTION)
    search(page, query)
    page.wait_for_selector(FIRST)
    short = {mark for mark in marked(page) if len(mark) < 5}
    assert short <= {query.lower(), f"{query.lower()}s", "out", "of"}, short


def is_within(site: Path, address: str, place: str) -> bool:
    """Return whether an address is that of a place, or of something in it."""
    if place in address:
        return True
    (file, _, anchor), (name, _, section) = (x.partition("#") for x in (address, place))
    if not (section and anchor and file.endswith(name)):
        return False
    html = (site / "chapter_gpus" / name).read_text("utf-8")
    return bool(BeautifulSoup(html, "html.parser").select(f"#{section} #{anchor}"))


QUESTIONS = Path(__file__).with_name("questions.csv")
# The most questions of a set without a place in the first three results.
MOST = {"tuning": 3, "held": 5, "certain": 0}


@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_most_questions_lead_to_their_places_in_three_results(
    open_http_page: Visitor, site: Path, tab: str
):
    page = open_http_page(f"{SECTION}?tab={tab}")
    missed: dict[str, list[str]] = {part: [] for part in MOST}
    for row in csv.DictReader(QUESTIONS.read_text("utf-8").splitlines()):
        search(page, row["question"])
        hrefs = page.locator("#search-results > a").evaluate_all(
            "links => links.slice(0, 3).map((link) => link.pathname + link.hash)"
        )
        places = [place.replace("#", ".html#") for place in row["places"].split()]
        places = [place if "#" in place else f"{place}.html" for place in places]
        if not any(is_within(site, href, place) for href in hrefs for place in places):
            missed[row["set"]].append(row["question"])
    assert all(len(missed[part]) <= MOST[part] for part in MOST), missed


ASKED = Path(__file__).parents[2] / "chapter_gpus/asked.csv"
ROWS = list(csv.DictReader(ASKED.read_text("utf-8").splitlines()))
MESSAGES = [row["asked"] for row in ROWS if row["kind"] == "message"]


def squeezed(text: str) -> str:
    """Return a text without its spaces, which are not the same in a tree."""
    return re.sub(r"\s+", "", text)


@pytest.mark.xdist_group("the parsed pages")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["asked"][:40])
def test_what_readers_ask_is_answered_where_the_search_leads(
    pages: dict[Path, BeautifulSoup], site: Path, row: dict[str, str]
):
    name, _, anchor = row["place"].partition("#")
    place = pages[site / f"chapter_gpus/{name}.html"].find(id=anchor)
    assert place, row["place"]
    section = place if place.name in ("section", "tr") else place.find_parent("section")
    assert section, row["place"]
    assert squeezed(row["answer"]) in squeezed(section.get_text())


def test_fifty_messages_lead_to_their_places(page: Page):
    assert len(MESSAGES) >= 50
    missed = []
    for row in ROWS:
        if row["kind"] == "message":
            search(page, row["asked"])
            first = page.locator(FIRST).get_attribute("href") or ""
            name, _, anchor = row["place"].partition("#")
            if not (
                first.endswith(f"#{anchor}") and (name in first or first[0] == "#")
            ):
                missed.append((row["asked"], first))
    assert missed == []


def test_a_message_says_so_and_names_its_section(page: Page):
    search(page, "CUDA error: device-side assert triggered")
    first = page.locator(FIRST)
    expect(first.locator(".search-badge")).to_have_text("Error message")
    expect(first.locator(".search-trail")).to_contain_text("Remedies by Symptom")
    expect(first.locator(".search-excerpt")).to_contain_text("index is out of range")


def test_a_few_words_of_a_message_lead_to_the_text(page: Page):
    search(page, "device")
    badges = page.locator("#search-results .search-badge").all_inner_texts()
    assert "Error message" not in badges[:5]


def test_the_search_runs_in_a_worker(page: Page):
    search(page, "tensor")
    expect(page.locator(FIRST)).to_be_visible()
    assert len(page.workers) == 1


def test_the_search_needs_no_worker(open_page: Visitor):
    page = open_page(SECTION)
    page.evaluate("() => { window.Worker = undefined }")
    search(page, "tensor")
    expect(page.locator(FIRST)).to_be_visible()
    assert page.workers == []


def test_enter_waits_for_the_answer(page: Page):
    search(page, "tensor")
    page.evaluate(
        """() => {
            const box = document.querySelector("dialog.search input");
            box.value = "pinned memory";
            box.dispatchEvent(new Event("input"));
            const key = { key: "Enter", bubbles: true };
            box.dispatchEvent(new KeyboardEvent("keydown", key));
        }"""
    )
    page.wait_for_url("**#term-pinned-memory")


def test_words_of_texts_and_of_queries_are_treated_alike(site: Path, node: str):
    """The build makes the index in Python, and the page asks it in JavaScript."""
    data = data_of(site)
    every = sorted({word for word in re.findall(r"\w+", data) if len(word) < 60})
    script = (
        "const {bookSearchEngine} = require(process.argv[1]);"
        "const [data, words] = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(words.map(bookSearchEngine(data).terms)))"
    )
    engine = str(site / "_static/search-engine.js")
    given = json.dumps([data, every])
    done = subprocess.run(
        [node, "-e", script, engine], input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    theirs = dict(zip(every, map(tuple, json.loads(done.stdout)), strict=True))
    assert len(every) > 5000
    assert theirs == {word: search_index.terms(word) for word in every}


@pytest.mark.parametrize("query", ["0% gpu utilization", "gpu utilization is 0"])
def test_a_symptom_comes_before_the_definition_of_its_word(page: Page, query: str):
    search(page, query)
    hrefs = page.locator("#search-results > a").evaluate_all(
        "links => links.map((link) => link.hash)"
    )
    assert hrefs[0] == "#symptom-the-gpu-is-idle"
    assert "#term-utilization" in hrefs


@pytest.mark.parametrize("term", ["warp", "all-reduce", "MFU", "pinned memory"])
def test_a_question_for_a_term_leads_to_its_entry(page: Page, term: str):
    search(page, f"what is {term}")
    first = page.locator(FIRST)
    assert "glossary.html#term-" in (first.get_attribute("href") or "")
    expect(first.locator(".search-trail")).to_contain_text(term, ignore_case=True)
    expect(first.locator(".search-badge")).to_have_text("Glossary")


@pytest.mark.parametrize("query", ["gpu", "what is a warp", "memory of a step"])
def test_a_page_has_at_most_two_results(page: Page, query: str):
    search(page, query)
    hrefs = page.locator("#search-results > a").evaluate_all(
        "links => links.map((link) => link.pathname)"
    )
    assert max(Counter(hrefs).values()) == 2


def test_solutions_are_found_only_if_nothing_else_is(page: Page, entries: list[Entry]):
    search(page, "a transpose in tiles")
    solutions = page.locator("#search-results > a[href*='/solutions']")
    assert page.locator("#search-results > a").count() and not solutions.count()
    texts = {True: "", False: ""}
    for entry in entries:
        words = f"{entry.get('text')} {entry.get('code')} {entry['trail']}"
        texts["/solutions" in entry["page"]] += words.lower()
    inside = re.findall(r"\b[a-z]{7,}\b", texts[True])
    only = next(word for word in inside if word[:-3] not in texts[False])
    search(page, only)
    assert solutions.count()


def test_the_empty_dialog_offers_symptoms(open_http_page: Visitor):
    page = open_http_page(f"{SECTION}?tab=pytorch")
    page.keyboard.press("/")
    page.get_by_role("button", name="It hangs").click()
    expect(page.get_by_role("combobox", name="Search the book")).to_be_focused()
    expect(page.locator("#search-results > a").first).to_be_visible()
    expect(page.get_by_role("button", name="It hangs")).to_be_hidden()


@pytest.mark.parametrize(
    ("button", "row"),
    [
        ("It is slow", "the-gpu-is-idle"),
        ("Out of memory", "memory-runs-out-in-a-step"),
        ("Results are wrong", "results-differ"),
        ("It hangs", "the-program-hangs"),
        ("There is no GPU", "there-is-no-gpu"),
    ],
)
@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_each_button_leads_to_its_row_of_the_quick_guide(
    open_http_page: Visitor, tab: str, button: str, row: str
):
    page = open_http_page(f"{SECTION}?tab={tab}")
    page.keyboard.press("/")
    page.get_by_role("button", name=button).click()
    expect(page.locator(FIRST)).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/quick-guide.html#symptom-{row}")
    expect(page.locator(f"#symptom-{row}")).to_be_in_viewport()


def test_an_address_can_ask(open_http_page: Visitor):
    page = open_http_page("index.html?search=what+is+a+warp")
    box = page.get_by_role("combobox", name="Search the book")
    expect(box).to_have_value("what is a warp")
    expect(page.locator(FIRST)).to_contain_text("Warp")


TRACEBACK = "Traceback (most recent call last): File 'a.py', line 3, in f x + y "


@pytest.mark.parametrize("before", ["", TRACEBACK], ids=["alone", "with a traceback"])
def test_an_error_message_is_found_by_its_words(open_http_page: Visitor, before: str):
    page = open_http_page(SECTION)
    search(page, f"{before}RuntimeError: Expected all tensors to be on the same device")
    found = page.locator("#search-results [role=option]")
    expect(found.first).to_contain_text("Expected all tensors")
    assert found.count() < 10


def test_a_dialog_that_waits_for_its_data_says_so(open_http_page: Visitor):
    held: list[Route] = []
    context = open_http_page.context()
    context.route("**/search-data.js", lambda route: held.append(route))
    page = open_http_page(SECTION)
    page.keyboard.press("/")
    expect(page.locator("dialog").get_by_role("status")).to_have_text("Loading …")
    page.keyboard.type("tensor")
    while not held:
        page.wait_for_timeout(10)
    held.pop().continue_()
    expect(page.locator(FIRST)).to_contain_text("tensor", ignore_case=True)


def test_what_is_typed_before_the_dialog_is_open_is_no_shortcut(
    open_http_page: Visitor,
):
    open_http_page.context().route("**/search.js", hold_up)
    page = open_http_page(SECTION)
    theme = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.type("/tpu")
    expect(page.locator("dialog.search[open]")).to_be_visible()
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert SECTION in page.url


def test_a_result_can_be_chosen_twice(page: Page, entries: list[Entry]):
    here = (e for e in entries if e["page"] == SECTION)
    entry = next(e for e in here if TABS[0] not in e.get("tabs", TABS))
    address = f"#{entry['anchor']}"
    for _ in range(2):
        page.evaluate("hash => { location.hash = hash }", address)
        expect(page.locator(address)).to_be_visible()
        page.click(f"#frameworks label:has([value={TABS[0]}])")
        expect(page.locator(address)).to_be_hidden()
        page.evaluate(
            """hash => {
                const link = document.createElement("a");
                link.href = hash;
                document.body.append(link);
                link.click();
            }""",
            address,
        )
        expect(page.locator(address)).to_be_visible()


def test_nothing_found_is_said_with_what_to_try(page: Page):
    search(page, "zzqqyxx")
    expect(page.locator("dialog").get_by_role("status")).to_contain_text(
        "Nothing found for “zzqqyxx”. Try"
    )
    expect(page.locator("#search-results")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("dialog.search")).to_be_visible()


@pytest.mark.parametrize("query", ["<b>", "a\\", "__", "constructor", "1.2", "“"])
def test_whatever_is_typed_is_text(open_http_page: Visitor, query: str):
    page = open_http_page(SECTION)
    search(page, query)
    expect(page.locator("dialog").get_by_role("status")).not_to_be_empty()
    assert page.locator("dialog.search b").count() == 0


def test_escape_closes_and_gives_the_focus_back(page: Page):
    page.locator("#search-button").focus()
    page.keyboard.press("Enter")
    search(page, "gpu")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.search")).to_be_hidden()
    expect(page.locator("#search-button")).to_be_focused()
    # What was asked for is still there, selected, to be typed over.
    page.keyboard.press("/")
    page.keyboard.type("tensor")
    expect(page.get_by_role("combobox", name="Search the book")).to_have_value("tensor")


def test_a_touch_opens_a_result_and_one_beside_it_closes(open_http_page: Visitor):
    page = open_http_page(PAGES[0], **TOUCH_SCREEN)
    page.locator("#search-button").tap()
    search(page, "gpu")
    width = page.locator("dialog.search").bounding_box()
    assert width and width["x"] >= 0 and width["x"] + width["width"] <= PHONE["width"]
    page.touchscreen.tap(PHONE["width"] / 2, PHONE["height"] - 2)
    expect(page.locator("dialog.search")).to_be_hidden()
    page.locator("#search-button").tap()
    option = page.locator("#search-results [role=option]").first
    target = (option.get_attribute("href") or "").partition("#")[2]
    option.tap()
    page.wait_for_url(f"**#{target}")


def test_search_loads_only_when_it_is_opened(open_page: Visitor):
    page = open_page(SECTION)
    assert not [url for url in open_page.requests if "/_static/search" in url]
    search(page, "gpu")
    page.wait_for_selector("#search-results [role=option]")
    loaded = {
        url.rpartition("/")[2] for url in open_page.requests if "/_static/" in url
    }
    files = {"search.css", "search.js", "search-data.js", "search-engine.js"}
    assert files <= loaded


# Previews


def test_a_reference_shows_what_it_refers_to(page: Page):
    preview = page.locator(".preview")
    kinds = set()
    for link in page.locator(PREVIEWED).all():
        if not link.is_visible():
            continue
        link.scroll_into_view_if_needed()
        link.hover()
        expect(preview).to_be_visible()
        expect(preview).to_be_in_viewport(ratio=1)
        expect(link).to_have_attribute("aria-describedby", "preview")
        assert preview.inner_text().strip()
        kinds.add("#fig-" in (link.get_attribute("href") or ""))
        page.mouse.move(0, 0)
        expect(preview).to_be_hidden()
        assert link.get_attribute("aria-describedby") is None
    assert kinds


def test_a_preview_can_be_pointed_at_and_dismissed(page: Page):
    link, preview = page.locator(PREVIEWED).first, page.locator(".preview")
    link.hover()
    expect(preview).to_be_visible()
    preview.hover()
    page.wait_for_timeout(500)
    expect(preview).to_be_visible()
    page.keyboard.press("Escape")
    expect(preview).to_be_hidden()


def test_a_preview_follows_the_focus_of_the_keyboard(page: Page):
    link, preview = page.locator(PREVIEWED).first, page.locator(".preview")
    link.scroll_into_view_if_needed()
    link.evaluate("e => e.focus({ focusVisible: true })")
    expect(preview).to_be_visible()
    assert not preview.locator("a, button, input, [id]").count()
    page.keyboard.press("Tab")
    expect(link).not_to_be_focused()
    assert link.get_attribute("aria-describedby") is None


def test_a_reference_to_a_section_shows_what_it_is_about(open_http_page: Visitor):
    page = open_http_page("chapter_gpus/pitfalls.html")
    page.locator('main a[href="trainer.html#sec-trainer"]:visible').first.hover()
    preview = page.locator(".preview")
    expect(preview.locator("p").first).to_have_text("4. A Trainer for GPUs")
    assert preview.locator("p").count() == 2
    told = preview.locator("p").last.inner_text()
    page.goto(page.url.replace("pitfalls", "trainer").partition("#")[0])
    assert told[:40] in page.locator("main").inner_text()


def test_touches_show_no_preview(open_http_page: Visitor):
    touched = open_http_page(SECTION, **TOUCH_SCREEN)
    touched.locator(PREVIEWED).first.evaluate(
        "e => e.addEventListener('click', (event) => event.preventDefault())"
    )
    touched.locator(PREVIEWED).first.tap()
    touched.wait_for_timeout(600)
    expect(touched.locator(".preview")).to_be_hidden()


def test_previews_of_other_pages_have_all_their_pictures(site: Path):
    text = (site / "_static/previews.js").read_text("utf-8")
    shown = json.loads(text.removeprefix("bookPreviews = ").removesuffix(";\n"))
    for html in shown.values():
        for source in html.split('src="')[1:]:
            assert (site / source.partition('"')[0]).exists(), source


# Terms of the glossary

WITH_TERM = "chapter_gpus/kernels.html"
WARP = "a.term[href='glossary.html#term-warp']"


def test_a_term_shows_its_entry(open_page: Visitor):
    page = open_page(WITH_TERM)
    page.locator(WARP).hover()
    entry = page.locator("#preview")
    expect(entry).to_contain_text("execute the same instruction")
    expect(entry).to_be_in_viewport(ratio=1)


def test_the_first_tap_shows_an_entry_and_the_second_goes_there(open_page: Visitor):
    page = open_page(WITH_TERM, **TOUCH_SCREEN)
    term, entry = page.locator(WARP), page.locator("#preview")
    term.tap()
    expect(entry).to_contain_text("execute the same instruction")
    page.locator("main h2").first.tap()
    expect(entry).to_be_hidden()
    term.tap()
    expect(entry).to_be_visible()
    term.tap()
    page.wait_for_url("**/glossary.html#term-warp")
