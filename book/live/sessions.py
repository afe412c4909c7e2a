"""Runs the cells of pages in kernels on this machine, one for each section and tab.

nbclient runs the cells, as it does for records. A `Sessions` object has a thread with
an event loop, in which everything happens; its methods are called from other threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from book.facts import predictions
from book.records import cleaning, outputs
from book.records.images import problem_with_image
from book.render.results import html_of, printed
from book.runner.execution import Interpreter, LimitedClient, kernel, scratch_folder
from book.runner.limits import MOST_CHARACTERS, TOO_LARGE
from book.text.blocks import Cell
from book.text.book import Book
from book.text.section import Section

MOST_KERNELS = 4  # each takes some hundred megabytes
WAIT_SECONDS = 20  # the longest that a page waits for news
STOP_SECONDS = 10  # the longest that a kernel has to end a cell that was stopped
DIED = "the kernel died; the next run starts a new one"
LEFT = "the cell ended the kernel; the next run starts a new one"
CUT = f"stopped, and the rest dropped: {TOO_LARGE}"
DEAF = f"{CUT}; it did not stop at once, so the next run starts a new kernel"
PAST = "in a kernel that has ended"
RENDER_SECONDS = 0.1  # outputs are sent at most so often
WORKING = {"queued", "starting", "running"}
HTML_NOTE = (
    '<p class="output-note">HTML is shown as text, because its scripts could run code '
    "on this machine.</p>"
)
Value = TypeVar("Value")


@dataclass(eq=False)
class CellRun:
    """The last run of a place on a page: a cell of the book, or one at an exercise.

    `state` is queued, starting, running, done, error, died or stopped. `kernel` counts
    the kernels of the session, and `order` their runs: a page compares them with those
    of the cells above. The place has had this code in all runs from `since` on.
    """

    place: str
    tab: str
    cell: Cell | None
    source: NotebookNode
    state: str = "queued"
    note: str = ""
    version: int = 0
    kernel: int = 0
    order: int = 0
    since: int = 0


class LiveClient(LimitedClient):
    """A client that calls `heard` after each message of the kernel.

    `has_left` says whether a cell has ended the kernel, as `exit()` does; `is_idle`,
    whether the last cell, whose messages name the request `request`, sends no more.
    """

    heard: Callable[[], None] = staticmethod(lambda: None)
    has_left = False
    is_idle = True
    request = ""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.on_cell_executed = self._note_exit

    def _note_exit(self, execute_reply: dict[str, Any], **_: object) -> None:
        payload = execute_reply["content"].get("payload", [])
        self.has_left |= any(each["source"] == "ask_exit" for each in payload)

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        content = msg["content"]
        self.request = msg["parent_header"]["msg_id"]
        self.is_idle = content.get("execution_state") == "idle"
        if "data" in content:  # a page shows only texts, and nbformat may refuse others
            texts = {k: v for k, v in content["data"].items() if isinstance(v, str)}
            content["data"] = texts
        try:
            return super().process_message(msg, cell, cell_index)
        finally:
            self.heard()

    async def drain(self) -> None:
        """Drop all that the kernel still sends of the last cell.

        A later cell would wait for its own output behind thousands of messages, and
        nbclient gives up after a few seconds.
        """
        assert self.kc is not None
        while not self.is_idle:
            await asyncio.sleep(0)  # other sessions' turn: what is there needs no wait
            msg: Any = await self.kc.iopub_channel.get_msg(timeout=None)  # type: ignore
            if msg["parent_header"].get("msg_id") == self.request:
                self.is_idle = msg["content"].get("execution_state") == "idle"


@dataclass(eq=False)
class Session:
    """The kernel of a section in a tab, which runs one cell at a time."""

    section: Section
    tab: str
    interpreter: Interpreter
    changed: Callable[[CellRun], None]
    runs: dict[str, CellRun] = field(default_factory=dict)
    # The code that the kernel has run last, or will, at each place, in this order; None
    # if it did not come to its end.
    ran: dict[str, str | None] = field(default_factory=dict)
    used: int = 0
    kernels: int = 0
    orders: int = 0
    queue: asyncio.Queue[CellRun] = field(default_factory=asyncio.Queue)
    client: LiveClient | None = None
    task: asyncio.Task[None] | None = None
    ending: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_busy(self) -> bool:
        """Whether a cell runs or waits."""
        return any(run.state in WORKING for run in self.runs.values())

    def due(self, cells: Sequence[tuple[str, str]], to_here: bool) -> Sequence[Any]:
        """Return those of `cells`, places and codes down to one, that it has to run.

        For `to_here`, and if the kernel knows none of them, they begin with the first
        one that it has not run, with this code and after those above. Otherwise, only
        the last one has to run.
        """
        *above, last = cells
        if not to_here and any(place in self.ran for place, _ in above):
            return [last]
        ran = iter(self.ran.items())
        # `in` goes on behind the item that it finds.
        first = next((i for i, each in enumerate(above) if each not in ran), len(above))
        return cells[first:]

    def add(self, run: CellRun) -> None:
        """Run a cell after those that wait."""
        before = self.runs.get(run.place)
        self.runs[run.place] = run
        self.ran.pop(run.place, None)
        self.ran[run.place] = run.source.source
        self.queue.put_nowait(run)
        if self.task is None or self.task.done():
            self.kernels += 1
            self.task = asyncio.create_task(self._serve())
        self.orders += 1
        run.kernel, run.order = self.kernels, self.orders
        run.since = run.order
        if before and before.source.source == run.source.source:
            run.since = before.since
        self.changed(run)

    async def _serve(self) -> None:
        """Run what is in the queue, in a kernel that lives as long as this task."""
        run = await self.queue.get()
        self._tell(run, "starting")
        try:
            with scratch_folder() as scratch:
                async with kernel(
                    new_notebook(), self.interpreter, scratch, LiveClient
                ) as client:
                    client.allow_errors = True
                    client.timeout = None
                    assert client.kc is not None
                    client.kc.allow_stdin = False
                    self.client = client
                    while await self._execute(client, run):
                        run = await self.queue.get()
                    self.client = None
                    self.stop_waiting()
        except RuntimeError as error:  # no kernel starts
            python = self.interpreter.python
            self._tell(run, "died", f"no kernel starts with {python} ({error})")
        except Exception as error:  # outputs that cannot be kept, for example
            self._tell(run, "died", f"{type(error).__name__}: {error}")
        finally:
            self.client = None
            self.stop_waiting()
            for each in self.runs.values():
                if each.state in WORKING:
                    self._tell(each, "stopped")
                elif each.state in ("done", "error") and not each.note:
                    self._tell(each, each.state, PAST)
            self.ran.clear()

    async def _execute(self, client: LiveClient, run: CellRun) -> bool:
        """Run a cell; return whether the kernel lives and later cells may run."""
        client.heard = lambda: self.changed(run)
        client.nb.cells.append(run.source)
        self._tell(run, "running")
        index = len(client.nb.cells) - 1
        try:
            await client.async_execute_cell(run.source, index)
        except RuntimeError:
            task = asyncio.current_task()
            if task and task.cancelling():
                # nbclient takes this for the death of the kernel.
                raise asyncio.CancelledError from None
            if client.size <= MOST_CHARACTERS:
                self._tell(run, "died", DIED)
                return False
            return await self._cut(client, run)
        failed = any(o.output_type == "error" for o in run.source.outputs)
        self._tell(run, "error" if failed else "done", LEFT if client.has_left else "")
        if failed:
            self.stop_waiting()
        return not client.has_left

    async def _cut(self, client: LiveClient, run: CellRun) -> bool:
        """Stop a cell that prints too much; return whether later cells may run."""
        await self._send_interrupt(client)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await client.drain()
        except TimeoutError:
            self._tell(run, "error", DEAF)
        else:
            self._tell(run, "error", CUT)
        self.stop_waiting()
        return client.is_idle

    def stop_waiting(self) -> None:
        """Take all runs out of the queue."""
        while not self.queue.empty():
            self._tell(self.queue.get_nowait(), "stopped")

    async def settle(self) -> None:
        """End a kernel that has died in silence, and wait for one that is ending."""
        if self.is_busy or self.task is None:
            return
        if self.client is None:
            await asyncio.wait([self.task])
            return
        manager: Any = self.client.km
        if not await manager.is_alive():
            await self.end()

    async def interrupt(self) -> None:
        """Interrupt the cell that runs, and stop those that wait."""
        self.stop_waiting()
        if self.client is not None:
            await self._send_interrupt(self.client)
        elif self.is_busy:  # the kernel is still starting
            await self.end()

    async def _send_interrupt(self, client: LiveClient) -> None:
        manager: Any = client.km
        await manager.interrupt_kernel()

    async def end(self) -> None:
        """End the kernel; the next run starts a new one."""
        async with self.ending:
            if self.task is not None:
                self.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self.task

    def _tell(self, run: CellRun, state: str, note: str = "") -> None:
        run.state, run.note = state, note
        if state not in (*WORKING, "done") and self.runs[run.place] is run:
            self.ran[run.place] = None
        self.changed(run)


class Sessions:
    """The kernels of a book's pages.

    `pythons` holds the interpreter of each tab, and `machine` is the name of the GPU.
    """

    def __init__(self, book: Book, pythons: dict[str, Path], machine: str):
        self.book = book
        self.builds = 0
        self.pythons = pythons
        self.machine = machine
        self.sessions: dict[tuple[str, str], Session] = {}
        self.versions = count(1)
        self.uses = count(1)
        self.loop = asyncio.new_event_loop()
        self.news = asyncio.Event()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def book_after(self, builds: int) -> Book:
        """Return the book as of build number `builds`; read it if that is new."""
        if builds != self.builds:
            self.book, self.builds = Book(self.book.root), builds
        return self.book

    def call(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Do some work in the loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self) -> None:
        """End all kernels and the thread."""
        self.call(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    async def _end(self) -> None:
        for session in self.sessions.values():
            await session.end()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:  # nbclient leaves one that watches the kernel
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _changed(self, run: CellRun) -> None:
        run.version = next(self.versions)
        self.news.set()

    async def run(
        self,
        section: Section,
        tab: str,
        cells: Sequence[tuple[str, str]],
        to_here: bool = False,
    ) -> None:
        """Run the last of `cells`, the places and codes of a page down to that one.

        Those above run first where `Session.due` says so.
        """
        session = await self._session(section, tab)
        await session.settle()
        of_book = {
            f"cell-{cell.number}": cell for cell in self.book.cells(section, tab)
        }
        async with session.ending:  # what is added to an ending kernel would be lost
            session.section = section
            for place, code in session.due(cells, to_here):
                source = new_code_cell(code)
                session.add(CellRun(place, tab, of_book.get(place), source))

    async def _session(self, section: Section, tab: str) -> Session:
        """Return the session of a section in a tab; end the oldest of too many."""
        key = (section.name, tab)
        if key not in self.sessions:
            interpreter = Interpreter(self.pythons[tab], self.book.root, "live")
            self.sessions[key] = Session(section, tab, interpreter, self._changed)
        session = self.sessions[key]
        session.used = next(self.uses)
        alive = [s for s in self.sessions.values() if s.client and s is not session]
        if len(alive) >= MOST_KERNELS and session.client is None:
            idle = [s for s in alive if not s.is_busy]
            if idle:
                await min(idle, key=lambda s: s.used).end()
        return session

    async def interrupt(self, section: Section, tab: str) -> None:
        """Interrupt the kernel of a section in a tab."""
        if session := self.sessions.get((section.name, tab)):
            await session.interrupt()

    async def restart(self, section: Section, tab: str) -> None:
        """End the kernel of a section in a tab; the next run starts a new one."""
        if session := self.sessions.get((section.name, tab)):
            await session.end()

    async def state(self, section: Section, seen: int) -> dict[str, Any]:
        """Return what has changed on a page after version `seen`.

        If something runs there, wait for a change; `busy` tells the page to ask again.
        """

        def sessions() -> list[Session]:
            return [s for s in self.sessions.values() if s.section.name == section.name]

        def unseen() -> list[CellRun]:
            runs = (run for session in sessions() for run in session.runs.values())
            return [run for run in runs if run.version > seen]

        def busy() -> bool:
            return any(session.is_busy for session in sessions())

        with contextlib.suppress(asyncio.TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS if seen else 0.001):
                while not unseen() and busy():
                    self.news.clear()
                    await self.news.wait()
                await asyncio.sleep(RENDER_SECONDS)
        new = unseen()
        return {
            "version": max([seen, *(run.version for run in new)]),
            "busy": busy(),
            "runs": [self._describe(run, section) for run in new],
        }

    def _describe(self, run: CellRun, section: Section) -> dict[str, Any]:
        """Return what a page shows of a run."""
        answers: list[str] = []
        if run.cell and run.cell.predicts and run.state == "done":
            blocks = self.book.blocks(section, run.tab)
            printed = outputs.text_of(run.source.outputs)
            found = predictions.answers(blocks, run.cell, printed)
            answers = [answer.text for answer in found]
        return {
            "place": run.place,
            "code": run.source.source,
            "tab": run.tab,
            "state": run.state,
            "note": run.note,
            "kernel": run.kernel,
            "order": run.order,
            "since": run.since,
            "answers": answers,
            "html": _html(run),
        }


def _html(run: CellRun) -> str:
    """Return the HTML of the outputs of a run, by what makes that of records."""
    parts, shown = [], outputs.read(cleaning.clean_outputs(run.source.outputs))
    cell = run.cell or Cell(line=1, source="", code="", rows=(), number=0)
    for number, output in enumerate(shown):
        match output:
            case outputs.Picture(kind, data) if why := problem_with_image(kind, data):
                parts.append(printed(f"[picture refused: {why}]"))
            case _:
                parts.append(html_of(output, cell, f"{run.place}-{number}-"))
    if any(map(_is_html, run.source.outputs)):
        parts.append(HTML_NOTE)
    return "".join(parts)


def _is_html(output: NotebookNode) -> bool:
    """Return whether an output is HTML of which only the text is shown."""
    data = output.get("data", {})
    others = (*outputs.PICTURES, cleaning.FIGURE)
    return "text/html" in data and not any(kind in data for kind in others)
