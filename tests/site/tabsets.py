"""Sets of tabs, of frameworks and of machines, as the tests use them."""

from playwright.sync_api import Page


def chosen(page: Page, axis: str = "tab") -> str:
    return page.evaluate("axis => document.documentElement.dataset[axis]", axis)


def press_through(page: Page, row: str, choices: list[str], axis: str = "tab") -> None:
    """Walk the first row of tabs of `choices`, of which the first is chosen."""
    page.focus(f"{row} > [aria-selected=true]")
    last = len(choices) - 1
    steps = {"End": last, "Home": 0, "ArrowLeft": last}
    for key, place in [*steps.items(), *(("ArrowRight", n) for n in range(last + 1))]:
        page.keyboard.press(key)
        focused = page.evaluate("document.activeElement.dataset.choice")
        assert focused == chosen(page, axis) == choices[place], key
