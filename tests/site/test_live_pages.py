"""Pages whose cells run: `make live` in a browser, with this Python as a kernel."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browsing import (
    TOUCH_SCREEN,
    Violations,
    free_port,
    probe,
    quiet,
    wait_for_copy_buttons,
)
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Route,
    expect,
)
from proxy import proxied

from book.text.book import Book

ROOT = Path(__file__).parents[2]
PAGE = "chapter_gpus/quick-guide.html"  # whose first cell needs no cell above
PREDICTED = ".live-row:has(+ .prediction)"
# The whole status of a cell that has ended, in the kernel that lives.
ENDED = re.compile("^(Done|Ended in an error)$")
# The cells of these tests need no framework, so the Python of the tests runs them.
START = """
from book import __main__
from book.notebooks import editions
editions.listed_packages = lambda book, *names: {}
raise SystemExit(__main__.main())
"""


@contextmanager
def serving(tab: str, port: int, *options: str) -> Iterator[str]:
    """Run `make live`; yield the address that it prints."""
    command = [sys.executable, "-c", START, "live", "--tab", tab]
    command += ["--python", sys.executable, "--port", str(port), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    address = r"https?://[\w.]+:\d+/\S*\?token=[\w-]+"
    found = (re.search(address, line) for line in process.stdout)
    yield next(match[0] for match in found if match)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) in (0, 130)
    process.stdout.close()


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of a server for PyTorch."""
    with serving("pytorch", free_port()) as found:
        yield found


def open_in(context: BrowserContext, address: str, page: str = PAGE) -> Page:
    """Open a page at the address of a server."""
    opened = context.new_page()
    enter(opened, address, page)
    return opened


def enter(opened: Page, address: str, page: str = PAGE) -> None:
    """Go to a page at the address of a server, which leads to one without a token."""
    opened.goto(address.replace("/?", f"/{page}?"))
    opened.wait_for_url(lambda url: "token=" not in url)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    yield context
    context.close()


@pytest.fixture
def live(address: str, context: BrowserContext) -> Iterator[Page]:
    """A page of the reader, whose console has to stay empty."""
    with quiet(context.new_page()) as page:
        enter(page, address)
        yield page
        with page.expect_response("**/.live/restart"):
            first = page.locator(".live-row").first
            first.get_by_role("button", name="Restart").click()


def rows(page: Page) -> Locator:
    """The rows of cells, which stand below their code."""
    return page.locator('div[aria-label="Code"] + .live-row:visible')


def code(row: Locator) -> Locator:
    return row.locator("xpath=preceding-sibling::div[1]//pre")


def run(row: Locator, text: str = "", name: str = "Run") -> None:
    if text:
        code(row).fill(text)
    row.get_by_role("button", name=name, exact=True).click()


def output(row: Locator) -> Locator:
    return row.locator("xpath=following-sibling::*[1]").locator(
        '.tab-panel[data-choices="live"]'
    )


def finish(row: Locator, state: str = "done") -> None:
    expect(row).to_have_attribute("data-state", state, timeout=60_000)


def test_a_cell_runs_as_the_reader_edits_it(live: Page):
    row = rows(live).nth(0)
    run(row, "print(6 * 7)")
    finish(row)
    expect(output(row)).to_have_text("42\n", use_inner_text=False)
    tabs = row.locator("xpath=following-sibling::*[1]").get_by_role("tab")
    assert tabs.all_text_contents()[-1].startswith("This machine: ")
    expect(tabs.last).to_have_attribute("aria-selected", "true")
    tabs.first.click()
    expect(output(row)).to_be_hidden()
    code(row).press("Shift+Enter")
    live.keyboard.press("t")  # no shortcut of the page: the cell has the focus
    assert live.evaluate("document.documentElement.dataset.theme") == "auto"


def test_errors_and_pictures_are_shown(live: Page):
    row = rows(live).nth(0)
    run(row, "1 / 0")
    finish(row, "error")
    expect(output(row)).to_contain_text("ZeroDivisionError: division by zero")
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    run(row, f"from IPython.display import SVG\nSVG({svg!r})")
    finish(row)
    expect(output(row).locator("img.output")).to_be_visible()


def test_an_interactive_figure_has_the_numbers_of_the_kernel(live: Page):
    row = rows(live).nth(0)
    code = (
        "from d2l.figures import Figure\nFigure('queue', host={}, device=20, fetch=10)"
    )
    for host, total in ((30, "take 450 µs"), (40, "take 570 µs")):
        run(row, code.format(host))
        finish(row)
        expect(output(row).locator(".result")).to_contain_text(
            re.compile(total.replace(" ", r"\s"))
        )
    assert output(row).locator(".explorable").count() == 1


def test_a_cell_that_runs_is_interrupted_and_found_again(live: Page):
    row = rows(live).nth(0)
    run(row, "import time\nprint('begun', flush=True)\ntime.sleep(600)")
    expect(output(row)).to_contain_text("begun", timeout=60_000)
    live.reload()
    row = rows(live).nth(0)
    expect(row).to_have_attribute("data-state", "running")
    expect(code(row)).to_contain_text("time.sleep(600)")
    expect(output(row)).to_contain_text("begun")
    row.get_by_role("button", name="Interrupt").click()
    finish(row, "error")
    expect(output(row)).to_contain_text("KeyboardInterrupt")


def test_a_kernel_that_dies_is_reported(live: Page):
    row = rows(live).nth(0)
    run(row, "import os; os._exit(1)")
    finish(row, "died")
    expect(status(row)).to_contain_text("the next run starts a new")


def status(row: Locator) -> Locator:
    return row.locator(".live-status")


def mark(panel: Locator) -> str:
    """The mark above an output of other code than the shown one, if there is one."""
    found = str(panel.evaluate("panel => getComputedStyle(panel, '::before').content"))
    return found.strip('"').replace("none", "")


OTHER = "Output of other code than the code above"


def test_two_pages_share_a_kernel_and_mark_the_code_of_the_other(live: Page):
    run(rows(live).nth(0), "x = 'from the first page'; print('first')")
    finish(rows(live).nth(0))
    other = live.context.new_page()
    other.goto(live.url)
    row = rows(other).nth(0)
    # A new page begins with the drafts of the last one, so it shows the code that ran.
    expect(output(row)).to_have_text("first\n", use_inner_text=False)
    assert mark(output(row)) == ""
    run(row, "print(x)")
    finish(row)
    expect(output(row)).to_contain_text("from the first page")
    # The first page keeps its code, also in a reload, and says that it is not what ran.
    for again in (False, True):
        if again:
            live.reload()
        else:
            live.evaluate("dispatchEvent(new Event('focus'))")
        row = rows(live).nth(0)
        expect(code(row)).to_contain_text("print('first')")
        expect(status(row)).to_contain_text("Changed, not run")
        expect(output(row)).to_contain_text("from the first page")
        assert mark(output(row)) == OTHER
    newest = live.context.new_page()
    newest.goto(live.url)
    expect(code(rows(newest).nth(0))).to_have_text("print(x)")


def test_cells_above_run_as_the_page_shows_them(live: Page):
    code(rows(live).nth(0)).fill("x = 'MY EDIT'; print(x)")
    code(rows(live).nth(1)).fill("print(x)")
    expect(status(rows(live).nth(0))).to_contain_text("Changed, not run")
    for _ in range(2):
        run(rows(live).nth(1), name="Run to here")
        finish(rows(live).nth(1))
        expect(output(rows(live).nth(0))).to_contain_text("MY EDIT")
        expect(output(rows(live).nth(1))).to_contain_text("MY EDIT")
        with live.expect_response("**/.live/restart"):
            live.get_by_role("button", name="Restart").first.click()
        expect(status(rows(live).nth(1))).to_contain_text("a kernel that has ended")
    live.reload()
    expect(code(rows(live).nth(0))).to_contain_text("x = 'MY EDIT'")


def note(row: Locator) -> Locator:
    return row.locator(".live-note")


CHANGED = "Cells above have changed: “Run to here” runs them and this cell"
AGAIN = CHANGED.replace("changed", "run again")
IS_GREY = """panel => {
  const probe = panel.appendChild(document.createElement("i"));
  probe.style.color = "var(--quiet)";
  const [text, quiet] = [panel.querySelector("pre"), probe].map(
    (each) => getComputedStyle(each).color);
  probe.remove();
  return text === quiet;
}"""


def is_marked(row: Locator, text: str) -> bool:
    """Wait for a note; return whether the output is grey and the cell not "Done"."""
    expect(note(row)).to_have_text(text)
    expect(status(row)).to_have_text("" if text else "Done")
    expect(output(row).locator("pre").first).to_be_attached()  # after a run has begun
    return bool(output(row).evaluate(IS_GREY))


def test_an_output_is_marked_when_cells_above_change(live: Page):
    first, second = rows(live).nth(0), rows(live).nth(1)
    code(first).fill("x = 1")
    run(second, "print(x)", name="Run to here")
    finish(second)
    assert not is_marked(second, "")
    code(first).fill("x = 2")
    assert is_marked(second, CHANGED)
    code(first).fill("x = 1")
    assert not is_marked(second, "")
    run(first, "x = 2")
    finish(first)
    assert is_marked(second, CHANGED)
    live.reload()
    assert is_marked(second, CHANGED)
    run(second, name="Run to here")
    finish(second)
    expect(output(second)).to_have_text("2\n", use_inner_text=False)
    assert not is_marked(second, "")
    run(first)
    assert is_marked(second, AGAIN)
    # Alone, a cell does not run what has changed above.
    code(first).fill("x = 3")
    run(second)
    finish(second)
    assert is_marked(second, CHANGED)
    expect(output(second)).to_have_text("2\n", use_inner_text=False)


def test_a_page_hears_of_changes_in_another_window(live: Page):
    pages = [live, live.context.new_page()]
    code(rows(live).nth(0)).fill("x = 1")
    run(rows(live).nth(1), "print(x)", name="Run to here")
    finish(rows(live).nth(1))
    pages[1].goto(live.url)
    for page in pages:
        assert not is_marked(rows(page).nth(1), "")
    run(rows(pages[1]).nth(0), "x = 2")
    for page in pages:  # also the one without the focus
        assert is_marked(rows(page).nth(1), CHANGED)
    run(rows(pages[1]).nth(1), name="Run to here")
    for page in pages:
        expect(output(rows(page).nth(1))).to_have_text("2\n", use_inner_text=False)
    assert not is_marked(rows(pages[1]).nth(1), "")
    assert is_marked(rows(live).nth(1), CHANGED)  # it still shows x = 1
    run(rows(live).nth(1), name="Run to here")
    assert not is_marked(rows(live).nth(1), "")
    expect(output(rows(live).nth(1))).to_have_text("1\n", use_inner_text=False)
    assert is_marked(rows(pages[1]).nth(1), CHANGED)


def test_a_changed_cell_is_marked_until_it_runs(live: Page):
    row = rows(live).nth(0)
    book, colored = code(row).text_content(), code(row).inner_html()
    expect(row.get_by_role("button", name="Reset")).to_be_hidden()
    run(row)
    expect(status(row)).to_have_text(ENDED, timeout=60_000)
    assert code(row).inner_html() == colored
    run(row, "print('ran')")
    finish(row)
    expect_marks(live, "s", ["'ran'"])
    expect(status(row)).to_have_text("Done")
    assert mark(output(row)) == ""
    recorded = row.locator("xpath=following-sibling::*[1]").locator(
        '.tab-panel[data-choices="cpu"]'
    )
    assert mark(recorded) == OTHER
    code(row).fill("print('not run')")
    expect(status(row)).to_have_text(
        "Changed, not run: the output below is that of other code"
    )
    assert mark(output(row)) == OTHER
    row.get_by_role("button", name="Reset").click()
    live.mouse.move(0, 0)  # away from code, which has marks in the place of elements
    expect(code(row).locator(".k").first).to_be_attached()
    assert (code(row).text_content(), code(row).inner_html()) == (book, colored)
    assert mark(output(row)) == OTHER and mark(recorded) == ""
    live.reload()
    expect(output(row)).to_contain_text("ran")
    assert code(row).text_content() == book
    assert mark(output(row)) == OTHER


def test_a_changed_cell_marks_nothing_of_the_cells_below(live: Page):
    live.goto(live.url.replace("quick-guide", "faster-training").partition("?")[0])
    box = 'div[aria-label="Code"]:visible'
    row = live.locator(f'{box} + .live-row:has(+ [data-axis="tab"])').first
    code(row).fill("x = 1")
    expect(status(row)).to_contain_text("Changed, not run")
    below = row.locator("xpath=following-sibling::*[1]").locator(".tab-panel:visible")
    assert mark(below.first) == ""


def expect_marks(page: Page, name: str, texts: list[str]) -> None:
    """Wait until the colors of a kind of token are on these texts that are edited."""
    marked = """([name, texts]) => {
      const marks = [...(CSS.highlights.get(`code-${name}`) ?? [])].map(String);
      return JSON.stringify(marks.sort()) === JSON.stringify(texts.sort()); }"""
    page.wait_for_function(marked, arg=[name, texts])


def test_code_keeps_its_colors_while_it_is_edited(live: Page):
    row = rows(live).nth(0)
    plain = code(row).text_content()
    spans = "pre => [...pre.querySelectorAll('.k')].map((each) => each.textContent)"
    keywords = code(row).evaluate(spans)
    assert keywords
    code(row).click()
    expect_marks(live, "k", keywords)  # on plain text, as the caret is where it was put
    assert code(row).evaluate("pre => pre.childElementCount") == 0
    live.keyboard.press("Control+Home")
    live.keyboard.type("if x == 'a':  # why\n    pass\n")
    expect_marks(live, "c", ["# why"])
    expect_marks(live, "k", ["if", "pass", *keywords])
    live.keyboard.type("y = 'here'\n")
    assert "    pass\ny = 'here'\nfrom" in code(row).inner_text()
    for _ in range(9):
        live.keyboard.press("Control+z")
    expect_marks(live, "k", keywords)
    assert code(row).inner_text().rstrip() == (plain or "").rstrip()
    colors = """pre => ["k", "s", "c"].map((name) => {
      const sample = pre.appendChild(document.createElement("span"));
      sample.className = name;
      const one = getComputedStyle(sample).color;
      sample.remove();
      return one === getComputedStyle(pre, `::highlight(code-${name})`).color; })"""
    assert code(row).evaluate(colors) == [True] * 3
    live.keyboard.press("Escape")
    expect(code(row).locator(".k")).to_have_text(keywords)
    expect_marks(live, "k", [])


def test_a_click_puts_the_caret_where_it_points(live: Page):
    row = rows(live).nth(0)
    row.scroll_into_view_if_needed()
    box = code(row).bounding_box()
    assert box
    live.mouse.move(box["x"] + 100, box["y"] + 20)
    live.mouse.down()
    live.mouse.up()
    live.keyboard.type("HERE")
    lines = (code(row).text_content() or "").splitlines()
    assert "HERE" in lines[0] and not lines[0].startswith("HERE")


def test_drafts_survive_a_reload_and_a_changed_book(live: Page):
    code(rows(live).nth(1)).fill("# a draft\n\nx = '  two  '")
    live.locator(".live-try").nth(1).click()
    live.locator(".live-cell pre").fill("1 + 1")
    live.reload()
    row = rows(live).nth(1)
    assert code(row).inner_text().rstrip() == "# a draft\n\nx = '  two  '"
    expect_marks(live, "c", ["# a draft"])  # with colors
    expect(live.locator("#exercises li").nth(1).locator(".live-cell pre")).to_have_text(
        "1 + 1"
    )
    expect(status(row)).to_contain_text("Changed, not run")
    # A draft of a cell that the book has changed since.
    live.evaluate(
        """() => { for (const storage of [localStorage, sessionStorage])
        for (const [key, value] of Object.entries(storage))
          storage[key] = value.replaceAll(/"book":"[^"]+"/g, '"book":"old"'); }"""
    )
    live.reload()
    expect(code(row)).to_contain_text("# a draft")
    expect(status(row)).to_contain_text("the book's code has changed since")
    row.get_by_role("button", name="Reset").click()
    live.reload()
    expect(code(row)).not_to_contain_text("# a draft")
    expect(row.get_by_role("button", name="Reset")).to_be_hidden()


def test_messages_say_what_to_do(live: Page):
    page = live.context.new_page()  # whose console shows the errors
    page.goto(live.url)
    row = rows(page).nth(0)
    answers: dict[str, Callable[[Route], None]] = {
        "the address that make live has printed last": lambda r: r.fulfill(status=403),
        "reload the page": lambda route: route.fulfill(status=404),
        "this request is too long": lambda route: route.fulfill(status=413),
        "is make live still running?": lambda route: route.abort(),
    }
    for message, answer in answers.items():
        page.unroute("**/.live/run")
        page.route("**/.live/run", answer)
        for place in (row, page.locator(".live-title")):
            name = "Run" if place is row else "Run all"
            run(place, name=name)
            expect(status(place)).to_contain_text(message)
            expect(place).not_to_have_attribute("data-state", "queued")


def test_a_page_opens_in_a_tab_that_the_server_runs(
    context: BrowserContext, site: Path
):
    port = free_port()
    # The reader has chosen another tab while an earlier server ran.
    context.add_init_script("localStorage.tab ??= 'pytorch'")
    with serving("jax", port) as address:
        page = open_in(context, address)
        root = page.locator("html")
        expect(root).to_have_attribute("data-tab", "jax")
        title = page.locator(".live-title")
        expect(title).to_contain_text("Cells run on this machine")
        page.get_by_role("radio", name="PyTorch").check()
        message = "This server runs JAX. For PyTorch: make live TAB=pytorch"
        expect(status(title)).to_have_text(message)
        expect(status(rows(page).nth(1))).to_have_text(message)
        expect(page.get_by_role("button", name="Run", exact=True)).to_have_count(0)
        code(rows(page).nth(0)).fill("'an edit'")
        expect(status(rows(page).nth(0))).to_contain_text("Changed, not run")
        # Now it is the reader's choice.
        page.goto(page.url.partition("?")[0])
        expect(root).to_have_attribute("data-tab", "pytorch")
        page.get_by_role("radio", name="JAX").check()
        code(rows(page).nth(1)).fill("print('draft')")
    # A restart: the page stays, and says what to do.
    with serving("jax", port) as address:
        page.wait_for_timeout(2500)  # it asks each second for new builds
        run(rows(page).nth(1))
        expect(status(rows(page).nth(1))).to_contain_text("server was restarted")
        expect(code(rows(page).nth(1))).to_contain_text("draft")
        page = open_in(context, address)
        expect(code(rows(page).nth(1))).to_contain_text("draft")


def test_only_code_of_the_book_can_run(live: Page, book: Book):
    """A listing that is not a cell has no buttons, and each cell that is shown has."""
    for name in ("use-gpu", "memory", "many-machines", "page-kernels", "trainer"):
        section = book.section(name)
        live.goto(re.sub(r"chapter_gpus/.*", f"{section.name}.html", live.url))
        boxes = live.locator('div[aria-label="Code"]:has(> .highlight > pre[role])')
        listings = live.locator(
            ":is(.highlight-text, .highlight-bash, .highlight-default):not(.output)"
        )
        assert name == "trainer" or listings.count()
        assert listings.locator("pre[role]").count() == 0
        shown = boxes.evaluate_all("boxes => boxes.map((box) => box.textContent)")
        cells = {cell.number for tab in book.tabs for cell in book.cells(section, tab)}
        assert len(shown) >= len(cells) / 2


def test_copy_is_in_the_corner_of_a_cell_on_a_phone(browser: Browser, address: str):
    context = browser.new_context(**TOUCH_SCREEN)
    page = open_in(context, address)
    wait_for_copy_buttons(page)
    box = page.locator(".highlight:has(> pre[role=textbox]):visible").first
    whole, copy = box.bounding_box(), box.locator(".copy").bounding_box()
    pre = box.locator("pre").bounding_box()
    assert whole and copy and pre
    assert copy["x"] + copy["width"] == pytest.approx(whole["x"] + whole["width"], 1)
    assert copy["y"] == whole["y"] and pre["height"] == whole["height"]
    assert pre["x"] + pre["width"] <= copy["x"]
    context.close()


@pytest.mark.parametrize("width", [1300, 375])
def test_rows_have_room(live: Page, width: int):
    live.set_viewport_size({"width": width, "height": 900})
    live.locator(".live-try").first.click()
    assert probe(live, "overlaps") == []


def test_a_predicted_number_stays_covered_and_enters_the_row(live: Page):
    live.goto(live.url.replace("quick-guide", "data-movement").partition("?")[0])
    run(rows(live).nth(0), "1")  # a new kernel would run all cells above
    expect(status(rows(live).nth(0))).to_have_text(ENDED, timeout=60_000)
    row = live.locator(PREDICTED).first
    prediction = row.locator("xpath=following-sibling::*[1]")
    # What the cell prints, without a framework.
    run(row, "print('n = 1024: queued after 123 ms, finished after 9 ms')")
    finish(row)
    expect(prediction.locator('.tab-panel[data-choices="live"]')).to_be_hidden()
    prediction.get_by_role("button", name="Show the output").click()
    expect(prediction.locator('.tab-panel[data-choices="live"]')).to_be_visible()
    answers = prediction.locator(".answers")
    expect(answers).to_contain_text("This machine")
    expect(answers.locator(".live-answer dd")).to_have_text(["123 ms", "9 ms"])


def test_an_exercise_gets_a_cell(live: Page):
    live.locator(".live-try").first.click()
    cell = live.locator(".live-cell")
    cell.locator("pre").fill("2 + 3")
    cell.get_by_role("button", name="Run", exact=True).click()
    finish(cell.locator(".live-row"))
    expect(cell).to_contain_text("5")


def test_a_live_page_is_accessible(live: Page, violations: Violations):
    code(rows(live).nth(2)).fill("'changed'")
    run(rows(live).nth(0), "1")
    run(rows(live).nth(1), "print('stale')")
    finish(rows(live).nth(1))
    code(rows(live).nth(0)).fill("'changed'")
    assert is_marked(rows(live).nth(1), CHANGED)
    expect(status(rows(live).nth(0))).to_contain_text("Changed, not run")
    assert violations(live) == []


def test_seven_pages_are_served(live: Page):
    pages = [live.context.new_page() for _ in range(7)]
    for page in pages:
        page.goto(live.url)
    row = rows(pages[-1]).nth(0)
    run(row, "'the seventh'")
    finish(row)


class Hostile(BaseHTTPRequestHandler):
    """A page of another server on this machine, which notes the cookies it gets."""

    cookies: list[str] = []

    def do_GET(self) -> None:
        self.cookies += self.headers.get_all("Cookie", [])
        body = b"<!DOCTYPE html><title>hostile</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hostile_port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


ATTACKS = {
    "text": """([url, body]) => fetch(url, {method: "POST", mode: "no-cors",
        credentials: "include", body}).catch(() => {})""",
    "json": """([url, body]) => fetch(url, {method: "POST", credentials: "include",
        headers: {"Content-Type": "application/json"}, body}).catch(() => {})""",
    "beacon": "([url, body]) => navigator.sendBeacon(url, body)",
    "form": """([url, body]) => {
        const form = Object.assign(document.createElement("form"),
          {method: "POST", enctype: "text/plain", action: url, target: "_blank"});
        const input = document.createElement("input");
        input.name = body.slice(0, -1) + ',"x":"'; input.value = '"}';
        form.append(input); document.body.append(form); form.submit(); }""",
}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_hostile_page_runs_nothing_and_reads_nothing(
    live: Page, tmp_path: Path, hostile_port: int, host: str
):
    mark = tmp_path / "mark"
    order: dict[str, object] = {"section": "chapter_gpus/use-gpu", "tab": "pytorch"}
    order |= {"cells": [["exercise-1", f"open({str(mark)!r}, 'w').close()"]]}
    own = live.url.partition("/chapter")[0]  # with the random path, to be sure
    page = live.context.new_page()
    page.goto(f"http://{host}:{hostile_port}/")
    for attack in ATTACKS.values():
        page.evaluate(attack, [f"{own}/.live/run", json.dumps(order)])
    read = """url => fetch(url, {credentials: "include"})
        .then((answer) => answer.text(), () => "")"""
    for path in ("/", "/.live/state?section=chapter_gpus/use-gpu&seen=0"):
        assert page.evaluate(read, own + path) == ""
    loaded = """url => new Promise(done => {
        const script = document.createElement("script");
        script.onload = () => done(true); script.onerror = () => done(false);
        script.src = url; document.body.append(script); })"""
    assert not page.evaluate(loaded, f"{own}/.live/live.js")
    framed = """url => new Promise(done => {
        const frame = document.createElement("iframe");
        frame.onload = () => done(true); frame.src = url;
        document.body.append(frame); })"""
    page.evaluate(framed, own + "/")
    assert all(f.url == "about:blank" or "error" in f.url for f in page.frames[1:])
    # The reader's own order comes after all of them.
    row = rows(live).nth(0)
    run(row, "'mine'")
    finish(row)
    assert not mark.exists()


def test_the_cookie_reaches_no_other_port(live: Page, hostile_port: int):
    """Another user may serve there, and would run code as the reader with it."""
    other = f"http://127.0.0.1:{hostile_port}"
    Hostile.cookies.clear()
    page = live.context.new_page()
    # Typed, and by links on a foreign page and on the reader's own.
    page.goto(f"{other}/")
    page.evaluate("location.assign('/favicon.ico')")
    page.wait_for_url("**/favicon.ico")
    with live.context.expect_page() as opened:
        live.evaluate("url => { open(url) }", f"{other}/chapter_gpus/")
    opened.value.wait_for_load_state()
    assert Hostile.cookies == []
    # The browser has the cookie: who knew the path would get it.
    page.goto(f"{other}{urlsplit(live.url).path}")
    assert "gpus-live=" in Hostile.cookies[0]


# Behind a proxy that ends TLS


@pytest.fixture
def proxied_context(browser: Browser) -> Iterator[BrowserContext]:
    """A context that accepts the proxy's certificate."""
    context = browser.new_context(ignore_https_errors=True)
    yield context
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, path",
    [
        ([], ""),
        (["--keep-host"], ""),
        (["--strip-path"], "/user/ada/proxy/8000"),
    ],
)
def test_a_page_of_a_proxy_runs_cells_also_after_a_link_on_another_site(
    site: Path,
    proxied_context: BrowserContext,
    hostile_port: int,
    options: list[str],
    path: str,
):
    port = free_port()
    with proxied(port, *options, "--path", path) as proxy:
        origin = f"https://gpus.localhost:{proxy}{path}"
        with serving("pytorch", port, "--origin", origin) as address:
            assert address.startswith(f"{origin}/")
            page = proxied_context.new_page()
            page.goto(f"http://127.0.0.1:{hostile_port}/")
            page.evaluate(f"location.assign({address.replace('/?', f'/{PAGE}?')!r})")
            page.wait_for_url(f"{address.partition('?')[0]}{PAGE}")
            expect(page.locator(".live-title")).to_contain_text("Cells run on this")
            run(rows(page).nth(0), "print(6 * 7)")
            finish(rows(page).nth(0))
            expect(output(rows(page).nth(0))).to_contain_text("42")
            (cookie,) = proxied_context.cookies()
            assert cookie["secure"] and cookie["sameSite"] == "Strict"
            # The address of this machine leads to the same pages.
            _, _, below = address.partition(f":{proxy}")
            enter(page, f"http://127.0.0.1:{port}{below}")
            run(rows(page).nth(0), "print(7 * 7)")
            finish(rows(page).nth(0))
            expect(output(rows(page).nth(0))).to_contain_text("49")


def test_a_page_of_an_unknown_proxy_names_the_setting(
    address: str, proxied_context: BrowserContext
):
    with proxied(int(re.findall(r":(\d+)/", address)[0])) as proxy:
        origin = f"https://gpus.localhost:{proxy}"
        page = open_in(proxied_context, re.sub(r"^http://[^/]+", origin, address))
        title, row = page.locator(".live-title"), rows(page).nth(0)
        expect(status(title)).to_contain_text(f"ORIGIN={origin}")
        run(row)
        expect(status(row)).to_contain_text(f"ORIGIN={origin}")
        expect(status(row)).not_to_contain_text("printed last")


def test_published_pages_run_nothing(site: Path):
    for file in site.rglob("*"):
        if file.suffix in {".html", ".js", ".css"}:
            assert "/.live/" not in file.read_text("utf-8")
    assert not os.path.exists(site / "_static/live")
