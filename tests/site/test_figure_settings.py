"""Readers change the settings of each figure by keyboard, and programs fill them in."""

import re

import pytest
from browsing import Violations
from figures import result, settle
from playwright.sync_api import Browser, Page, expect

MANY = ("collectives", "plans", "turns")
LINE = (
    "cpu: products in GFLOP/s: float32 100, bfloat16 400; memory 40 GB/s; "
    "0.8 µs per operation; spread 0 percent"
)
PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6matmulPf' for 'sm_80'
ptxas info    : Function properties for _Z6matmulPf
    8 bytes stack frame, 12 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 94 registers, used 1 barriers, 16384 bytes smem"""


# Memory


@pytest.fixture
def opened(page: Page, harness: str) -> Page:
    page.goto(harness)
    return page


def test_a_model_brings_its_settings(opened: Page) -> None:
    figure = opened.locator("#fig-memory-timeline")
    for summary in figure.locator("summary").all():
        summary.click()
    figure.get_by_label("Model", exact=True).select_option("gpt2xl")
    assert "GPT-2 needs 47.6 GB" in result(opened, "memory-timeline")
    assert "predicted 42.58 GB" in figure.locator(".formula").inner_text().replace(
        "\N{NO-BREAK SPACE}", " "
    )
    expect(opened).to_have_url(re.compile(r"\?memory-timeline\.model=gpt2xl$"))
    figure.get_by_label("Model", exact=True).select_option("deep")
    assert not figure.get_by_label("Tokens in a sequence").is_visible()


def test_a_capacity_of_your_own_changes_the_card(opened: Page) -> None:
    figure = opened.locator("#fig-memory-timeline")
    figure.locator("summary").first.click()
    figure.get_by_label("Capacity of your own card").focus()
    opened.keyboard.press("ArrowRight")
    assert figure.get_by_label("Card", exact=True).input_value() == "own"
    assert "fits on your card" in result(opened, "memory-timeline")


def test_the_numbers_are_in_a_table(opened: Page) -> None:
    figure = opened.locator("#fig-memory-timeline")
    figure.locator("summary", has_text="The arithmetic").click()
    table = figure.get_by_role("table")
    assert table.get_by_role("columnheader").count() == 5
    sums = table.get_by_role("row").last.inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert sums.split("\t") == ["sum", "1.74 GB", "22.3 GB", "28.9 GB", "1.99 GB"]


def test_pieces_are_allocated_and_freed_by_keyboard(opened: Page) -> None:
    figure = opened.locator("#fig-allocator")
    figure.get_by_role("button", name="Free all").press("Enter")
    assert "100 of 100 are free" in result(opened, "allocator")
    size = figure.get_by_label("Size of your request")
    size.press("ArrowLeft")
    size.press("ArrowLeft")
    for _ in range(3):
        figure.get_by_role("button", name="Allocate 40").press("Enter")
    assert "full: only 20 are free, too few for 40" in result(opened, "allocator")
    figure.locator("summary", has_text="More settings").click()
    figure.get_by_label("Piece to free").select_option("a")
    figure.get_by_role("button", name="Free a", exact=True).press("Enter")
    before = result(opened, "allocator")
    assert "60 of 100 are free, and the largest gap has 40" in before
    expect(opened).to_have_url(re.compile(r"allocator\.did=40-40-fa"))
    opened.reload()
    assert result(opened, "allocator") == before


def test_controls_follow_the_kind_of_requests(opened: Page) -> None:
    opened.locator("#fig-allocator summary").first.click()
    minibatches = opened.get_by_label("Minibatches so far")
    assert not minibatches.is_visible()
    opened.get_by_label("Requests").select_option("come")
    opened.get_by_label("Allocator").select_option("segments")
    assert minibatches.is_visible()
    button = opened.locator("#fig-allocator").get_by_role("button", name="Allocate")
    assert not button.is_visible()
    assert "Minibatch 12, of length 90, fails" in result(opened, "allocator")
    minibatches.focus()
    opened.keyboard.press("ArrowLeft")
    assert "Minibatch 11, of length 45, fits" in result(opened, "allocator")


# Many GPUs


def test_rounds_are_walked_through_by_keyboard(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-collectives")
    assert figure.locator("svg text", has_text="Round 1 of 6").count() == 1
    button = figure.get_by_role("button", name="Next round")
    for _ in range(5):
        button.focus()
        page.keyboard.press("Enter")
    expect(figure.locator("svg text", has_text="Round 6 of 6")).to_have_count(1)
    # Sixteen complete pieces, and a box in the legend.
    expect(figure.locator("svg rect.s3")).to_have_count(4 * 4 + 1)
    settle(page, "collectives")
    page.reload()
    assert figure.locator("svg text", has_text="Round 6 of 6").count() == 1
    button.press("Enter")  # After the last round, they begin again.
    assert figure.locator("svg text", has_text="Before the first round").count() == 1


def test_small_messages_and_slow_links(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-collectives")
    for summary in figure.locator("summary").all():
        summary.click()
    figure.get_by_label("Message of each device").press("Home")
    assert "1.4 times as long as the tree" in result(page, "collectives")
    figure.get_by_role("button", name="Reset").click()
    figure.get_by_label("Slow link", exact=True).select_option("1")
    assert "takes 273 ms" in result(page, "collectives")
    assert "device 1, which sends 150" in figure.locator(".formula").inner_text()
    figure.get_by_label("Algorithm", exact=True).select_option("star")
    text = result(page, "collectives")
    assert "takes 364 ms for 100 MB, 1.3 times as long as the ring" in text
    figure.get_by_label("Devices", exact=True).focus()
    page.keyboard.press("End")
    assert figure.get_by_label("Machine", exact=True).input_value() == "own"
    assert figure.locator("svg text", has_text="Round 1 of 2").count() == 1


def test_a_plan_is_composed_by_keyboard(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-plans")
    assert "Llama 3, 8 B does not fit" in result(page, "plans")
    for summary in figure.locator("summary").all():
        summary.click()
    figure.get_by_label("Sharded among the copies").select_option("3")
    assert "fits: each H100 needs 24.3 GB" in result(page, "plans")
    figure.get_by_label("GPUs that share each layer").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert "mostly inside of layers" in result(page, "plans")
    figure.get_by_label("Stages of a pipeline").focus()
    page.keyboard.press("ArrowRight")
    assert "8 GPUs cannot form groups of 8 × 2" in result(page, "plans")
    figure.locator("svg text", has_text=re.compile("^GPUs: 16$")).wait_for()
    figure.get_by_label("Model").select_option("gpt1t")
    assert "GPT, 1 trillion fits: each A100 needs 53.4 GB" in result(page, "plans")
    assert "the published run reached 163 TFLOP/s per GPU" in result(page, "plans")
    expect(page).to_have_url(f"{harness}?plans.model=gpt1t")
    experts = figure.get_by_label("GPUs that share the experts")
    assert experts.is_hidden()
    figure.get_by_label("Model").select_option("mixtral")
    assert "Mixtral 8x7B fits: each H100 needs 65.8 GB" in result(page, "plans")
    experts.press("Home")
    assert "Mixtral 8x7B does not fit: each H100 needs 125 GB" in result(page, "plans")
    expect(page).to_have_url(f"{harness}?plans.model=mixtral&plans.expert=1")


@pytest.mark.parametrize("name", MANY)
def test_without_scripts_the_picture_is_there(
    browser: Browser, harness: str, name: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(harness)
    picture = page.locator(f"#fig-{name} > img")
    assert picture.is_visible()
    box = picture.bounding_box()
    assert box and box["width"] > 300 and box["height"] > 150
    assert page.locator(f"#fig-{name} .explorable").count() == 0
    context.close()


@pytest.mark.parametrize("width", [375, 900])
def test_axe_finds_nothing_in_the_figures(
    page: Page, harness: str, violations: Violations, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(harness)
    for name in MANY:
        for summary in page.locator(f"#fig-{name} summary").all():
            summary.click()
    found = [
        text for text in violations(page) if any(f"#fig-{n}" in text for n in MANY)
    ]
    assert found == []


def test_texts_on_a_phone_do_not_leave_the_drawing(page: Page, harness: str) -> None:
    page.set_viewport_size({"width": 375, "height": 800})
    page.goto(f"{harness}?plans.model=gpt1t&collectives.n=16&collectives.slow=0")
    page.wait_for_timeout(300)
    code = """(svg) => [...svg.querySelectorAll("text")].filter((text) => {
      const [a, b] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
      return a.left < b.left - 1 || a.right > b.right + 1;
    }).map((text) => text.textContent)"""
    for name in MANY:
        assert page.locator(f"#fig-{name} .drawing svg").evaluate(code) == []


# Performance


def test_a_measured_machine_is_pasted(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-roofline")
    field = figure.get_by_label("Paste the line")
    figure.locator("summary").first.click()
    assert not field.is_visible()
    figure.get_by_label("Machine", exact=True).select_option("own")
    field.fill(LINE)
    figure.get_by_label("Size n of the matrices").focus()
    page.keyboard.press("End")
    text = result(page, "roofline")
    # 2 · 16384³ FLOPs at 400 GFLOP/s, and at 100 GFLOP/s in float32
    assert "the arithmetic decides: the time is at least 22 s" in text
    settle(page, "roofline")
    page.reload()
    assert result(page, "roofline") == text
    figure.locator("summary").first.click()
    figure.get_by_label("Numbers", exact=True).select_option("float32")
    assert "at least 88 s" in result(page, "roofline")
    field.fill("my machine")
    assert "This is not a line of print(" in result(page, "roofline")


def test_a_rate_of_your_own_changes_the_machine(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-roofline")
    figure.locator("summary").first.click()
    figure.get_by_label("Peak rate of your own").focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_label("Machine", exact=True).input_value() == "own"


def test_sparse_rates_do_not_make_a_program_faster(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-roofline")
    before = result(page, "roofline")
    for summary in figure.locator("summary").all():
        summary.click()
    figure.get_by_label("Peak rate", exact=True).select_option("sparse")
    assert result(page, "roofline") == before
    formula = figure.locator(".formula").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "a data sheet may print 330 TFLOP/s" in formula
    assert figure.locator("svg text", has_text="sparse").count() == 1


def test_what_a_compiler_prints_is_pasted(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-warps")
    figure.locator("summary").first.click()
    field = figure.get_by_label("Paste a line")
    field.fill("H100  64 registers,   0 B of stack, 24576 B shared;    2 x wgmma")
    assert "An SM of the H100 holds 8 blocks" in result(page, "warps")
    assert figure.get_by_label("Kernel").input_value() == "h100-64"
    field.fill(PTXAS.replace("\n", " "))
    text = result(page, "warps")
    assert "Numbers spill: each thread has 8 bytes of stack." in text
    assert "An SM of the A100 holds 5 blocks, and a product" in text
    settle(page, "warps")
    page.reload()
    assert result(page, "warps") == text
    figure.locator("summary").first.click()
    field.fill("B200, tile 128, 8 warps: sum  64, 128 registers,    0 B of stack")
    text = result(page, "warps")
    assert "does not contain the shared memory, so its slider counts." in text
    assert "An SM of the B200 holds 2 blocks, and a product" in text
    figure.get_by_label("Registers of a thread").focus()
    page.keyboard.press("End")
    formula = figure.locator(".formula").text_content() or ""
    assert "/ 64 = 12.5" in formula
    assert figure.get_by_label("Kernel").input_value() == "own"


def test_a_block_that_does_not_fit_is_told(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-warps")
    figure.locator("summary").first.click()
    figure.get_by_label("Warps in a block").focus()
    page.keyboard.press("End")
    assert "No block fits on an SM of the A100: the registers decide, so" in result(
        page, "warps"
    )


def test_each_card_has_plans_of_its_own(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-turns")
    card = figure.get_by_label("Card", exact=True)
    plan = figure.get_by_label("Plan", exact=True).filter(visible=True)
    plan.select_option("128 × 256 × 64, 8 warps")
    assert "L2 cache for 1267 clocks" in result(page, "turns")
    card.select_option("A100")
    expect(plan.locator("option")).to_have_count(3)
    plan.select_option("128 × 128 × 32, 8 warps")
    assert "On the A100, a turn occupies the tensor cores" in result(page, "turns")
    card.select_option("H100")  # which still has the plan that was chosen
    assert "L2 cache for 1267 clocks" in result(page, "turns")
    for summary in figure.locator("summary").all():
        summary.click()
    clocks = figure.locator("tr[aria-current] td").all_inner_texts()[:4]
    assert clocks == ["1024", "148", "0", "1267"]
    figure.get_by_label("The L2 cache delivers").press("End")
    assert "no unit for longer" in result(page, "turns")
    settle(page, "turns")
    page.reload()
    assert "no unit for longer" in result(page, "turns")


def test_sectors_follow_the_keyboard(page: Page, harness: str) -> None:
    page.goto(harness)
    figure = page.locator("#fig-sectors")
    figure.locator("summary").first.click()
    figure.get_by_label("Stride, in numbers").focus()
    page.keyboard.press("End")
    assert "touches 32 sectors" in result(page, "sectors")
    assert figure.get_by_label("What the warp reads").input_value() == "column"
    expect(page).to_have_url(f"{harness}?sectors.preset=column")
    figure.get_by_label("First number").focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_label("What the warp reads").input_value() == "own"
