"""The interactive figures: their arithmetic, their pictures, and what a reader does."""

import ast
import itertools
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from figures import NAMES, result
from playwright.sync_api import Browser, Page, expect

from book.library import package
from book.text.book import Book

ROOT = Path(__file__).parents[2]
DEVICES = ("host", "gpu0", "gpu1")
FRAMEWORKS = ("pytorch", "mxnet", "jax", "tensorflow")


# Numbers and units


@pytest.mark.parametrize(
    "call, text",
    [
        ("time(0.0015)", "1.5 ms"),
        ("time(80e-3)", "80 ms"),
        ("time(999.96e-6)", "1 ms"),  # rounding reaches the next unit
        ("time(2.5e-7)", "250 ns"),
        ("time(5e-10)", "0.5 ns"),
        ("time(0)", "0 ns"),
        ("time(3600)", "3600 s"),
        ("size(1000)", "1 kB"),
        ("size(5e8)", "500 MB"),
        ("size(999)", "999 bytes"),
        ("size(2e9)", "2 GB"),
        ("bandwidth(64e9)", "64 GB/s"),
        ("bandwidth(3.35e12)", "3.35 TB/s"),
        ("rate(989e12)", "989 TFLOP/s"),
        ("rate(7.168e12)", "7.17 TFLOP/s"),
        ("percent(1/3)", "33 %"),
    ],
)
def test_numbers_stand_in_units_that_fit(run_js, call: str, text: str) -> None:
    assert run_js(f"give(a.{call})") == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_a_copy_costs_its_fixed_time_and_its_bytes(run_js) -> None:
    assert run_js("give(a.copyTime(1e8, 64e9, 1e-5))") == pytest.approx(1.5725e-3)


# The queue


def simulate(steps: int, host: float, device: float, every: int, fetch: float):
    """Return total, waiting and idle time of the loop, step by step."""
    now = free = waited = idle = 0.0
    for step in range(1, steps + 1):
        now += host
        idle += max(0.0, now - free)
        free = max(free, now) + device
        if every and step % every == 0:
            waited += free - now
            now = free + fetch
    return max(now, free), waited, idle + max(now, free) - free


def loops() -> list[dict]:
    times = (1e-6, 2e-5, 4e-5, 2.5e-3)
    grid = itertools.product((1, 7, 12), times, times, (0, 1, 2, 4, 5, 12), (0, 2e-5))
    keys = ("steps", "host", "device", "every", "fetch")
    return [dict(zip(keys, values, strict=True)) for values in grid]


def test_the_queue_is_what_its_formula_says(run_js) -> None:
    grid = loops()
    runs = run_js(
        f"give({json.dumps(grid)}.map((loop) => "
        "({...a.runQueue(loop), formula: a.queueTime(loop)})))"
    )
    for loop, run in zip(grid, runs, strict=True):
        total, waited, idle = simulate(**loop)
        assert run["total"] == pytest.approx(total)
        assert run["formula"] == pytest.approx(total)
        assert run["waited"] == pytest.approx(waited, abs=1e-12)
        assert run["busy"] == pytest.approx(loop["steps"] * loop["device"])
        assert run["busy"] + idle == pytest.approx(total)
        spans = sum(span["end"] - span["start"] for span in run["device"])
        assert spans == pytest.approx(run["busy"])


def test_a_slow_host_leaves_the_gpu_idle_without_a_fetch(run_js) -> None:
    state = "{...explorable.first(queue), every: 0, steps: 'own', host: 1000}"
    text = run_js(f"give(queue.result({state}))").replace("\N{NO-BREAK SPACE}", " ")
    assert "the GPU is idle for 96 % of that time." in text


def test_spans_of_the_queue_do_not_overlap(run_js) -> None:
    grid = loops()
    for run in run_js(f"give({json.dumps(grid)}.map(a.runQueue))"):
        for row in (run["host"], run["device"]):
            for before, after in itertools.pairwise(row):
                assert after["start"] >= before["end"] - 1e-12
        assert run["device"][0]["start"] >= run["host"][0]["end"] - 1e-12


def test_fetching_more_often_is_never_faster(run_js) -> None:
    code = """
    const loop = (every) => ({steps: 12, host: 2e-5, device: 4e-5, fetch: 2e-5, every});
    give([1, 2, 3, 4, 6, 12, 0].map((every) => a.runQueue(loop(every)).total));
    """
    totals = run_js(code)
    assert totals == sorted(totals, reverse=True)
    assert totals[0] == pytest.approx(12 * 80e-6)
    assert totals[-1] == pytest.approx(12 * 40e-6 + 20e-6)


# Is it worth moving?


def product(task: dict, n: float) -> tuple[float, float]:
    """Return the times of a task on the CPU and on the GPU, copies included."""
    flops, moved = 2 * n**3, 3 * n**2 * task["bytes"]
    one = max(flops / task["gpu"], moved / task["memory"]) + task["launch"]
    copies = 3 * task["latency"] + moved / task["link"]
    return task["products"] * flops / task["cpu"], copies + task["products"] * one


def chapter_task() -> dict:
    """Return the task of the defaults of `product_times`, the function of the book."""
    module = ast.parse((ROOT / "d2l" / "torch.py").read_text("utf-8"))
    (function,) = (
        node for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name == "product_times"
    )  # fmt: skip
    names = [argument.arg for argument in function.args.args[1:]]
    values = [ast.literal_eval(default) for default in function.args.defaults]
    keys = ("bytes", "cpu", "gpu", "link", "memory", "latency", "launch", "products")
    assert names == [
        "itemsize", "cpu_rate", "gpu_rate", "link_bandwidth", "memory_bandwidth",
        "copy_latency", "launch_time", "num_products",
    ]  # fmt: skip
    return dict(zip(keys, values, strict=True))


def chapter_text() -> str:
    """Return the section that derives the times of products, on one line."""
    path = ROOT / "chapter_gpus" / "use-gpu.md"
    return " ".join(path.read_text("utf-8").split())


def test_figure_and_chapter_have_the_same_constants(run_js) -> None:
    task = run_js("give(worth_moving.task(explorable.first(worth_moving)))")
    assert task.pop("n") == 4096
    # The bandwidth of the card has more digits than that of the chapter.
    assert task == pytest.approx(chapter_task(), rel=1e-3)


@pytest.mark.parametrize("change, n", [({}, 950), ({"gpu": 494.7e12}, 890)])
def test_text_and_caption_name_the_crossing(run_js, change: dict, n: int) -> None:
    crossing = run_js(f"give(a.crossing({json.dumps(chapter_task() | change)}))")
    assert round(crossing, -1) == n
    text = chapter_text()
    assert f"$n \\approx {n}$" in text
    if not change:
        assert f"up to n of about {n}, then the GPU" in text


def tasks() -> list[dict]:
    grid = itertools.product(
        (2, 4, 8), (1, 10, 1000), (1e11, 7.168e12), (1.29e12, 67e12, 989e12),
        (16e9, 64e9), (1e12,), (1e-5,), (5e-6,),
    )  # fmt: skip
    keys = ("bytes", "products", "cpu", "gpu", "link", "memory", "latency", "launch")
    return [dict(zip(keys, values, strict=True)) for values in grid]


def test_times_of_products(run_js) -> None:
    grid = [task | {"n": n} for task in tasks() for n in (32, 1000, 16384)]
    for task, times in zip(
        grid, run_js(f"give({json.dumps(grid)}.map(a.productTimes))"), strict=True
    ):
        cpu, gpu = product(task, task["n"])
        assert (times["cpu"], times["gpu"]) == (pytest.approx(cpu), pytest.approx(gpu))
        assert times["copies"] + times["product"] == pytest.approx(gpu)


def test_times_are_equal_at_the_crossing_and_nowhere_else(run_js) -> None:
    grid = tasks()
    crossings = run_js(f"give({json.dumps(grid)}.map(a.crossing))")
    for task, n in zip(grid, crossings, strict=True):
        sizes = [2 ** (k / 4) for k in range(0, 96)]
        faster = [
            size for size in sizes if product(task, size)[0] > product(task, size)[1]
        ]
        if n is None:
            assert faster == []
            continue
        cpu, gpu = product(task, n)
        assert cpu == pytest.approx(gpu, rel=1e-9)
        assert faster == [size for size in sizes if size > n]
    assert None in crossings and any(crossings)


def test_peak_rates_are_products_of_what_the_notes_name(run_js) -> None:
    machines = run_js("give(worth_moving.MACHINES)")
    notes = " ".join(
        part if isinstance(part, str) else part[0]
        for name in machines
        for line in run_js(f"give(worth_moving.notes({{machine: '{name}'}}))")
        for part in line
    )
    for machine in machines.values():
        assert machine["cpu"]["float64"] * 2 == pytest.approx(machine["cpu"]["float32"])
    for cores, ghz, cycle, peak in (
        (56, 2.0, 64, 7.168), (20, 2.2, 32, 1.408), (64, 2.45, 16, 2.5088)
    ):  # fmt: skip
        assert f"{cores} cores × {ghz} GHz × {cycle} operations a cycle" in notes
        assert cores * ghz * cycle / 1000 == pytest.approx(peak)
        assert any(
            peak
            in (pytest.approx(m["cpu"]["float32"]), pytest.approx(m["cpu"]["float64"]))
            for m in machines.values()
        )


# Two devices


def expected_sum(framework: str, x: str, y: str) -> tuple[str, str | None, int]:
    """Return the outcome of X + Y, its device, and the number of copies."""
    if framework == "tensorflow":
        return "sum", "gpu0", (x != "gpu0") + (y != "gpu0")
    if x == y:
        return "sum", x, 0
    if framework == "mxnet" and "host" not in (x, y):
        return "undefined", None, 0
    return "error", None, 0


def test_each_framework_adds_by_its_rules(run_js) -> None:
    cases = list(itertools.product(FRAMEWORKS, DEVICES, DEVICES))
    answers = run_js(f"give({json.dumps(cases)}.map((c) => a.add(...c)))")
    for case, answer in zip(cases, answers, strict=True):
        found = answer["outcome"], answer["device"], len(answer["copies"])
        assert found == expected_sum(*case), case


def test_totals_are_sums_over_the_copies(run_js) -> None:
    code = """
    const setting = (x, y, actions) => ({framework: "jax", x, y, size: 1e8, actions,
      hostLink: 64e9, gpuLink: 450e9, latency: 1e-5});
    give([
      a.replay(setting("gpu0", "gpu1", ["add", "copy", "fetch", "fetch"])),
      a.replay(setting("host", "host", ["add", "fetch"])),
      a.replay(setting("gpu1", "gpu1", ["fetch", "copy"])),
    ]);
    """
    two, host, one = run_js(code)
    assert [entry["outcome"] for entry in two["log"]] == [
        "error", "sum", "fetched", "fetched"
    ]  # fmt: skip
    assert two["bytes"] == 3e8
    assert two["time"] == pytest.approx(3e-5 + 1e8 / 450e9 + 2e8 / 64e9)
    assert (host["bytes"], host["time"], host["fetched"]) == (0, 0, True)
    assert [entry["outcome"] for entry in one["log"]] == ["nothing", "sum"]
    assert (one["bytes"], one["sum"]) == (0, "gpu1")


@pytest.mark.parametrize("tab", ["pytorch", "jax"])
def test_errors_are_those_of_the_records(run_js, tab: str) -> None:
    """The figure quotes the record's outputs for X on GPU 0 and Y on GPU 1."""
    path = ROOT / "outputs" / "cpu" / tab / "chapter_gpus" / "use-gpu.ipynb"
    record = path.read_text("utf-8")
    text = run_js(f"give(two_devices.ERRORS.{tab}('gpu0', 'gpu1')[0])")
    assert re.sub(r"^\w+: ", "", text) in record


# Pictures


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_what_its_script_draws(node: str, tmp_path: Path, name) -> None:
    for folder in ("img/src", "static/explorables"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    (tmp_path / "d2l").mkdir()
    shutil.copy(ROOT / "d2l/cards.csv", tmp_path / "d2l")
    subprocess.run([node, f"img/src/{name}.js"], cwd=tmp_path, check=True, timeout=60)
    picture = (tmp_path / "img" / f"{name}.svg").read_text("utf-8")
    assert picture == (ROOT / "img" / f"{name}.svg").read_text("utf-8")
    assert "var(" not in picture and "NaN" not in picture and " style=" not in picture
    assert int(re.search(r' width="(\d+)"', picture)[1]) <= 640  # type: ignore[index]


def test_figures_have_the_cards_of_the_library(
    run_js, page: Page, harness: str
) -> None:
    """In Node, which draws the pictures, and on a page, where the build wrote them."""
    cards = package.cards(Book(ROOT))
    assert cards["H100"]["cores"] == 132 and len(cards) > 5
    assert run_js("give(cards)") == cards
    page.goto(harness)
    assert page.evaluate("bookCards") == cards


def test_drawings_are_made_of_numbers(run_js) -> None:
    """No setting, however extreme, leads to a coordinate that is not a number."""
    code = """
    const out = [];
    const specs = [two_devices, queue, worth_moving, memory_timeline, allocator,
      roofline, sectors, warps, collectives, plans, workers];
    for (const spec of specs) {
      const ends = (c) => c.values || (c.options || []).map(([value]) => value);
      const values = (c) =>
        c.kind === "range" && !c.values ? [c.min, c.max] : ends(c);
      for (const control of spec.controls)
        for (const value of values(control)) {
          const state = { ...explorable.first(spec), [control.id]: value };
          const next = spec.settle ? spec.settle(state, control.id) : state;
          for (const width of [256, 400, 720])
            out.push(spec.draw(next, width) +
              spec.draw(next, width, { from: state, part: 0.4 }) +
              spec.result(next) + spec.summary(next) +
              spec.formula(next) + (spec.table ? spec.table(next).rows : ""));
        }
    }
    give([out.length, out.filter((text) => /NaN|undefined|Infinity|null/.test(text))]);
    """
    drawn, wrong = run_js(code)
    assert drawn > 100 and wrong == []


# In the browser


def arithmetic_of(page: Page, name: str) -> str:
    """Return the folded arithmetic of a figure."""
    text = page.locator(f"#fig-{name} .formula").text_content() or ""
    return text.replace("\N{NO-BREAK SPACE}", " ")


def open_all(page: Page, name: str) -> None:
    """Open what is folded away in a figure."""
    for summary in page.locator(f"#fig-{name} summary").all():
        summary.click()


def test_a_slider_moves_by_keyboard(page: Page, harness: str) -> None:
    page.goto(harness)
    assert "take 600 µs" in result(page, "queue")
    slider = page.get_by_label("Fetch the loss")
    slider.focus()
    page.keyboard.press("Home")
    total = simulate(12, 20e-6, 40e-6, 1, 20e-6)[0]
    assert f"take {round(total * 1e6)} µs" in result(page, "queue")
    assert slider.get_attribute("aria-valuetext") == "after every step"
    page.keyboard.press("ArrowRight")
    assert "take 720 µs" in result(page, "queue")
    page.keyboard.press("End")
    assert "Without a fetch" in result(page, "queue")


def test_the_result_of_a_product_is_that_of_the_arithmetic(
    page: Page, harness: str
) -> None:
    page.goto(harness)
    page.locator("#fig-worth-moving").get_by_label("Size n of the matrices").focus()
    page.keyboard.press("End")
    task = chapter_task()
    cpu, gpu = product(task, 16384)
    text = result(page, "worth-moving")
    assert f"the GPU wins: {gpu * 1e3:.3g} ms" in text
    assert f"against {cpu:.3g} s on the CPU" in text
    text = arithmetic_of(page, "worth-moving")
    crossing = float(re.search(r"n ≈ (\d+)", text)[1])  # type: ignore[index]
    assert math.isclose(*product(task, crossing), rel_tol=0.02)


def test_presets_set_the_sliders_and_sliders_leave_the_preset(
    page: Page, harness: str
) -> None:
    page.goto(harness)
    figure = page.locator("#fig-worth-moving")
    open_all(page, "worth-moving")
    figure.get_by_label("Machine").select_option("p100")
    link = page.get_by_label("Link, in one direction")
    assert link.get_attribute("aria-valuetext") == "16\N{NO-BREAK SPACE}GB/s"
    link.focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_label("Machine").input_value() == "own"
    figure.get_by_role("button", name="Reset").click()
    assert figure.get_by_label("Machine").input_value() == "h100"
    assert link.get_attribute("aria-valuetext") == "64\N{NO-BREAK SPACE}GB/s"


def test_the_setting_is_in_the_address(page: Page, harness: str) -> None:
    page.goto(f"{harness}?tab=jax&x=%20y#here")
    page.get_by_label("Fetch the loss").focus()
    page.keyboard.press("Home")
    moving = page.locator("#fig-worth-moving")
    open_all(page, "worth-moving")
    moving.get_by_label("Numbers", exact=True).select_option("half")
    before = result(page, "queue"), result(page, "worth-moving")
    own = "&queue.every=1&worth-moving.type=half"
    expect(page).to_have_url(f"{harness}?tab=jax&x=%20y{own}#here")
    page.reload()
    assert (result(page, "queue"), result(page, "worth-moving")) == before
    for name in ("queue", "worth-moving"):
        page.locator(f"#fig-{name}").get_by_role("button", name="Reset").click()
    expect(page).to_have_url(f"{harness}?tab=jax&x=%20y#here")


def test_actions_are_in_the_address(page: Page, harness: str) -> None:
    page.goto(harness)
    for name in ("Compute X + Y", "Copy X to Y's device, then add", "Fetch the sum"):
        page.get_by_role("button", name=name).click()
    before = result(page, "two-devices")
    expect(page).to_have_url(f"{harness}?two-devices.did=add-copy-fetch")
    page.reload()
    assert result(page, "two-devices") == before
    log = page.locator("#fig-two-devices .log").inner_text()
    assert "Copied in all: 200 MB in 1.8 ms." in log.replace("\N{NO-BREAK SPACE}", " ")
    page.locator("#fig-two-devices").get_by_role("button", name="Reset").click()
    expect(page).to_have_url(harness)


@pytest.mark.parametrize(
    "query",
    [
        "queue.every=3.5&queue.host=1e9&queue.preset=none",
        "queue.every=&queue.host=abc&queue.device=-1",
        "queue.every=%E0%A4%A&queue.fetch=Infinity",
        "worth-moving.n=1000&worth-moving.cpu=NaN&worth-moving.machine=%3Cb%3E",
        "two-devices.x=gpu7&two-devices.size=3&two-devices.did=add-drop",
        "two-devices.did=" + "-".join(["add"] * 99),
        "queue.every&=&&queue.=1",
        "memory-timeline.model=gpt9&memory-timeline.batch=3&memory-timeline.gpus=0",
        "allocator.did=30-fz&allocator.policy=buddy&allocator.count=13",
        "allocator.did=&allocator.did=--&allocator.size=7e9",
        "roofline.n=500&roofline.machine=h1000&roofline.overhead=-1&roofline.rate=x",
        "sectors.stride=0&sectors.size=3&warps.registers=256&warps.card=%E0&warps.n=9e9",
        "collectives.n=17&collectives.round=99&collectives.slow=7&collectives.bytes=0",
        "plans.model=gpt9&plans.gpus=7&plans.zero=4&plans.batch=-1&plans.rate=x",
    ],
)
def test_a_bad_address_gives_the_first_setting(
    page: Page, harness: str, query: str
) -> None:
    page.goto(harness)
    expected = [result(page, name) for name in NAMES]
    page.goto(f"{harness}?{query}")
    assert [result(page, name) for name in NAMES] == expected


def test_two_devices_follow_the_framework(page: Page, harness: str) -> None:
    page.goto(harness)
    page.get_by_role("button", name="Compute X + Y").click()
    heard = {"pytorch": result(page, "two-devices")}
    for tab in ("mxnet", "jax", "tensorflow"):
        page.evaluate(
            "tab => document.dispatchEvent(new CustomEvent('book:choice', "
            "{detail: {axis: 'tab', value: tab}}))",
            tab,
        )
        heard[tab] = result(page, "two-devices")
    assert "With PyTorch, X + Y raises an error" in heard["pytorch"]
    assert "MXNet 1.9.1 does not notice" in heard["mxnet"]
    assert "With JAX, X + Y raises an error" in heard["jax"]
    assert "TensorFlow does not say so, but Y is copied" in heard["tensorflow"]


def test_paper_shows_the_picture(page: Page, harness: str) -> None:
    page.goto(harness)
    picture, live = (
        page.locator("#fig-queue img"),
        page.locator("#fig-queue .explorable"),
    )
    assert live.is_visible() and not picture.is_visible()
    page.emulate_media(media="print")
    assert picture.is_visible() and not live.is_visible()
    assert page.locator("#fig-queue figcaption").is_visible()


@pytest.mark.parametrize("width", [320, 375, 1100])
def test_nothing_is_wider_than_the_page(page: Page, harness: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    did = "two-devices.did=add-copy-fetch"
    page.goto(f"{harness}?{did}&queue.preset=large&worth-moving.products=1000")
    for summary in page.locator("summary").all():
        summary.click()
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for drawing in page.locator(".drawing svg").all():
        box = drawing.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width


def test_thumbs_find_controls_of_44_pixels(browser: Browser, harness: str) -> None:
    context = browser.new_context(
        viewport={"width": 375, "height": 800}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(harness)
    for summary in page.locator("summary").all():
        summary.tap()
    for control in page.locator(
        ".explorable :is(button, select, input, summary):visible"
    ).all():
        box = control.bounding_box()
        assert box and box["height"] >= 44, control.inner_text()
    context.close()


def test_ids_are_unique_and_everything_has_a_name(page: Page, harness: str) -> None:
    page.goto(harness)
    page.wait_for_timeout(200)
    ids = page.eval_on_selector_all("[id]", "list => list.map(e => e.id)")
    assert len(ids) == len(set(ids))
    for drawing in page.locator("[role=img]").all():
        assert len(drawing.get_attribute("aria-label") or "") > 40
    for control in page.locator(".control :is(input, select)").all():
        assert page.locator(f"label[for={control.get_attribute('id')}]").count() == 1
    extra = page.evaluate(
        "Object.keys(window).filter(k => k.startsWith('book')).sort()"
    )
    assert extra == ["bookExplorables", "bookModules"]
