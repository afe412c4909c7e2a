"""How long the search of the pages takes, beside that of another build of the book.

    PYTHONPATH=.:tests/site .venvs/test/bin/python -m benchmarks.search --before FOLDER

FOLDER holds the site of another commit, as `make` writes it to `_build/html`. The sites
take turns, so that what else the machine does meets both. The first number is the time
from opening the dialog to the first result, with all files from the disk; the second is
that from a key to its results, for each key of some questions. Both grow with what else
the machine does; the others are times of processors, which do not: of the page itself,
which can do nothing else meanwhile, and of its process, which includes the worker.
"""

import argparse
from pathlib import Path
from statistics import median

import tools
from playwright.sync_api import Browser, sync_playwright

from benchmarks.common import ROOT, machine, progress, spread

PAGE = "chapter_gpus/use-gpu.html"
QUESTIONS = ("cuda out of memory", "pinned memory", "how to time gpu code")
ROWS = (
    *("ms to the first result", "ms to the results of a key"),
    *("opening, ms of the page", "opening, ms of its process"),
    *("a key, ms of the page", "a key, ms of its process"),
)
# Opens the search, types each beginning of each question, and returns the milliseconds.
OPEN = """async (first) => {
  const start = performance.now();
  document.querySelector("#search-button").click();
  const until = async (found) => {
    while (!found()) await new Promise((next) => setTimeout(next));
    return performance.now();
  };
  await until(() => document.querySelector("dialog.search input"));
  const list = document.querySelector("#search-results");
  const box = document.querySelector("dialog.search input");
  box.value = first;
  box.dispatchEvent(new Event("input"));
  return (await until(() => list.children.length)) - start;
}"""
TYPE = """async (questions) => {
  const list = document.querySelector("#search-results");
  const box = document.querySelector("dialog.search input");
  const times = [];
  for (const question of questions)
    for (let length = 1; length <= question.length; length++) {
      const start = performance.now();
      box.value = question.slice(0, length);
      box.dispatchEvent(new Event("input"));
      while (list.hasAttribute("aria-busy")) await new Promise((n) => setTimeout(n));
      times.push(performance.now() - start);
    }
  return times;
}"""


def measure(browser: Browser, site: Path) -> list[float]:
    """Return the numbers of `ROWS` for one opening of the search."""
    page = browser.new_page()
    page.goto(f"{site.as_uri()}/{PAGE}")
    page.wait_for_timeout(1000)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def used() -> tuple[float, float]:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        seconds = {metric["name"]: metric["value"] for metric in metrics}
        return 1000 * seconds["TaskDuration"], 1000 * seconds["ProcessTime"]

    before = used()
    first = page.evaluate(OPEN, QUESTIONS[0])
    opened = used()
    times = page.evaluate(TYPE, QUESTIONS)
    typed = used()
    page.close()
    opening = [now - then for now, then in zip(opened, before, strict=True)]
    keys = [(now - then) / len(times) for now, then in zip(typed, opened, strict=True)]
    return [first, median(times), *opening, *keys]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, help="the site of another commit")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    sites = {"now": ROOT / "_build/html"}
    if given.before:
        sites["before"] = given.before.resolve()
    found: dict[str, list[list[float]]] = {name: [] for name in sites}
    with sync_playwright() as playwright, progress("searching"):
        flags = [*tools.CHROMIUM_FLAGS]
        browser = playwright.chromium.launch(
            executable_path=tools.chromium(), args=flags
        )
        for _ in range(given.rounds):
            for name, site in sites.items():
                found[name].append(measure(browser, site))
        browser.close()
    print(f"{machine()}; {given.rounds} rounds; median (minimum to maximum)")
    for row, title in enumerate(ROWS):
        values = {name: [each[row] for each in found[name]] for name in sites}
        shown = [f"{name} {spread(numbers, 1)}" for name, numbers in values.items()]
        if given.before:
            ratio = median(values["now"]) / median(values["before"])
            shown.append(f"ratio {ratio:.2f}")
        print(f"{title}: {'; '.join(shown)}")


if __name__ == "__main__":
    main()
