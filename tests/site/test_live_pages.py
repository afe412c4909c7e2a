"""Pages whose cells run: `make live` in a browser, with this Python as a kernel."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from browsing import Violations, free_port
from playwright.sync_api import Browser, Locator, Page, Route, expect

ROOT = Path(__file__).parents[2]
PAGE = "chapter_gpus/use-gpu.html"
PREDICTED = ".live-row:has(+ .prediction)"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address that `make live` prints, without "/?token=" and the token."""
    command = [sys.executable, "-m", "book", "live", "--tab", "pytorch"]
    command += ["--python", sys.executable, "--port", str(free_port())]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"(http://127.0.0.1:\d+)/\?token=(\S+)", line):
            break
    assert found
    yield found[0]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) in (0, 130)
    process.stdout.close()


@pytest.fixture
def live(address: str, browser: Browser) -> Iterator[Page]:
    """A page of the reader, whose console has to stay empty."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(address.replace("/?", f"/{PAGE}?"))
    yield page
    with page.expect_response("**/.live/restart"):
        page.locator(".live-row").first.get_by_role("button", name="Restart").click()
    assert messages == []
    context.close()


def rows(page: Page) -> Locator:
    """The rows of cells, which stand below their code."""
    return page.locator('div[aria-label="Code"] + .live-row:visible')


def code(row: Locator) -> Locator:
    return row.locator("xpath=preceding-sibling::div[1]//pre")


def run(row: Locator, text: str = "", name: str = "Run") -> None:
    if text:
        code(row).fill(text)
        if (code(row).text_content() or "").strip() != text:
            code(row).fill(text)  # the page has put in what ran earlier meanwhile
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


def test_errors_pictures_and_long_outputs(live: Page):
    row = rows(live).nth(0)
    run(row, "def f(): return 1 / 0\nf()")
    finish(row, "error")
    expect(output(row)).to_contain_text("ZeroDivisionError: division by zero")
    expect(output(row)).to_contain_text("in f()")
    run(row, "for i in range(3000): print(i)")
    finish(row)
    expect(output(row)).to_contain_text("2999")
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


def test_a_kernel_that_dies_is_replaced(live: Page):
    row = rows(live).nth(0)
    run(row, "import os\nos.getpid()")
    expect(output(row)).to_have_text(re.compile(r"^\d+\s*$"), timeout=60_000)
    process = psutil.Process(int(output(row).inner_text()))
    process.kill()
    for _ in range(600):
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            break
        live.wait_for_timeout(50)
    run(row, "'alive'")
    expect(output(row)).to_contain_text("alive", timeout=60_000)
    run(row, "import os; os._exit(1)")
    finish(row, "died")
    expect(row.locator(".live-status")).to_contain_text("the next run starts a new")


def test_two_pages_share_a_kernel(live: Page):
    run(rows(live).nth(0), "x = 'from the other page'")
    finish(rows(live).nth(0))
    other = live.context.new_page()
    other.goto(live.url)
    row = rows(other).nth(0)
    run(row, "x")
    finish(row)
    expect(output(row)).to_contain_text("from the other page")


def test_a_page_keeps_what_is_typed_before_it_knows_of_earlier_runs(live: Page):
    run(rows(live).nth(0), "print('earlier')")
    finish(rows(live).nth(0))
    other = live.context.new_page()
    held: list[Route] = []
    other.route("**/.live/state*", lambda route: held.append(route))
    other.goto(live.url)
    row = rows(other).nth(0)
    code(row).fill("print('typed')")
    while not held:
        other.wait_for_timeout(20)
    first = held.pop()
    other.route("**/.live/state*", lambda route: route.continue_())
    first.continue_()
    expect(output(row)).to_contain_text("earlier")
    expect(code(row)).to_have_text("print('typed')")


def test_a_predicted_number_stays_covered_and_enters_the_row(live: Page):
    live.goto(live.url.replace("use-gpu", "data-movement").partition("?")[0])
    run(rows(live).nth(0), "1")  # a new kernel would run all cells above
    expect(rows(live).nth(0)).to_have_attribute("data-state", re.compile("done|error"))
    row = live.locator(PREDICTED).first
    prediction = row.locator("xpath=following-sibling::*[1]")
    shown = code(row).text_content()
    # What the cell prints, without a framework.
    question = prediction.get_attribute("data-question") or ""
    run(row, f"print({question.replace('?', '123')!r})")
    finish(row)
    expect(prediction.locator('.tab-panel[data-choices="live"]')).to_be_hidden()
    prediction.get_by_role("button", name="Show the output").click()
    expect(prediction.locator('.tab-panel[data-choices="live"]')).to_be_visible()
    answers = prediction.locator(".answers")
    expect(answers).to_contain_text("This machine")
    expect(answers.locator(".live-answer dd")).to_contain_text("123")
    assert shown


def test_an_exercise_gets_a_cell(live: Page):
    live.locator(".live-try").first.click()
    cell = live.locator(".live-cell")
    cell.locator("pre").fill("2 + 3")
    cell.get_by_role("button", name="Run", exact=True).click()
    finish(cell.locator(".live-row"))
    expect(cell).to_contain_text("5")


def test_a_live_page_is_accessible(live: Page, violations: Violations):
    run(rows(live).nth(0), "1")
    finish(rows(live).nth(0))
    assert violations(live) == []


def test_seven_pages_are_served(live: Page):
    pages = [live.context.new_page() for _ in range(7)]
    for page in pages:
        page.goto(live.url)
    row = rows(pages[-1]).nth(0)
    run(row, "'the seventh'")
    finish(row)


class Hostile(BaseHTTPRequestHandler):
    """A page of another server on this machine."""

    def do_GET(self) -> None:
        body = b"<!DOCTYPE html><title>hostile</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


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
    live: Page, tmp_path: Path, host: str
):
    mark = tmp_path / "mark"
    order = {"section": "chapter_gpus/use-gpu", "tab": "pytorch", "place": "p"}
    order |= {"code": f"open({str(mark)!r}, 'w').close()", "shown": ""}
    own = live.url.partition("/chapter")[0]
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = live.context.new_page()
        page.goto(f"http://{host}:{server.server_port}/")
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
        server.shutdown()
    # The reader's own order comes after all of them.
    row = rows(live).nth(0)
    run(row, "'mine'")
    finish(row)
    assert not mark.exists()


def test_published_pages_run_nothing(site: Path):
    for file in site.rglob("*"):
        if file.suffix in {".html", ".js", ".css"}:
            assert "/.live/" not in file.read_text("utf-8")
    assert not os.path.exists(site / "_static/live.js")
