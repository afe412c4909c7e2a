"""JupyterLab opens the notebooks with a kernel for each framework, and runs them."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from book.base import build_paths
from book.base.files import locked
from book.live import lab
from book.text.book import Book

ROOT = Path(__file__).parents[2]
TABS = Book(ROOT).tabs
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a running JupyterLab without a chosen section, with its token."""
    command = [sys.executable, "-m", "book", "lab", "--tab", ",".join(TABS)]
    log = tmp_path_factory.mktemp("lab") / "log"  # a pipe that nobody reads would fill
    pattern = re.compile(r"http://127.0.0.1:\d+/lab\S*token=\w+")
    lock = ROOT / build_paths.LOCKS / "test-lab.lock"
    with locked(lock, "another worker has a JupyterLab"), log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, stderr=file)
        while not (found := pattern.search(log.read_text())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield found[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0, log.read_text()


def test_the_list_of_notebooks_leads_to_each(server, browser):
    page = browser.new_page()
    page.goto(f"{server}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", state="attached", timeout=60_000)
    first = page.get_by_role("tab", name="first-hour.ipynb")
    expect(first).to_have_attribute("aria-selected", "true")
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    page.get_by_role("link", name="All notebooks").click()
    contents = page.locator(".jp-MarkdownViewer")
    expect(contents.get_by_role("link").first).to_contain_text("1 Your First Hour on a")
    contents.get_by_role("link", name="2 Using GPUs").click()
    second = page.get_by_role("tab", name="use-gpu.ipynb")
    expect(second).to_have_attribute("aria-selected", "true", timeout=60_000)
    page.close()


@pytest.mark.parametrize("tab", TABS)
def test_a_notebook_runs_from_top_to_bottom(server, browser, tab):
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    address = server.replace(f"/{TABS[0]}/first-hour.", f"/{tab}/trainer.")
    page.goto(f"{address}&reset")  # no notebook of an earlier visit
    page.wait_for_selector(".jp-Notebook .jp-Cell", state="attached", timeout=60_000)
    kernel = page.locator(".jp-Toolbar-kernelName")
    expect(kernel).to_have_text(lab._title(tab), timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    file = ROOT / f"_build/lab/notebooks/{tab}/trainer.ipynb"
    code: list[nbformat.NotebookNode] = []
    for _ in range(60):
        page.wait_for_timeout(2000)
        page.keyboard.press("Control+s")
        try:
            cells = nbformat.read(file, 4).cells
        except nbformat.reader.NotJSONError:  # JupyterLab is writing it
            continue
        code = [cell for cell in cells if cell.cell_type == "code"]
        if all(cell.execution_count for cell in code):
            break
    outputs = [output for cell in code for output in cell.outputs]
    assert [o for o in outputs if o.output_type == "error"] == []
    assert all(cell.execution_count for cell in code)
    assert any("image/svg+xml" in o.get("data", {}) for o in outputs)
    assert {url.split("/")[2] for url in requests if url[:4] == "http"} == {
        server.split("/")[2]
    }
    page.close()
