"""Writes d2l/plans.csv: what XLA plans to store on GPUs that need not be there.

`make plans`, or with an interpreter that has JAX and its compiler for GPUs:
`python -m benchmarks.plans`. `inputs_digest` tells whether the file is out of date.
Plans of the functions of compiling.md have the text of the compiled program, too.
"""

import ast
import csv
import functools
import hashlib
import os
import re
import string
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from book.base import environments
from book.text.section import Section

ROOT = Path(__file__).parents[1]
FILE = ROOT / "d2l/plans.csv"
CARDS = ("T4", "A100", "H100", "H200", "B200")
# The cards and the numbers of GPUs that each model is planned for, and more for some.
EVERYWHERE = [(card, num_gpus) for num_gpus in (1, 8) for card in CARDS]
MORE = {"llama3-checkpointing": [("H100", 64)]}
ROLES = ("arguments", "outputs", "aliased", "temporaries")
COLUMNS = ("model", "card", "num_gpus", *ROLES, "text", "jax", "inputs")
GPT2 = (12, 768, 12, 12, 3072, 50257, 1024)
LLAMA3 = (32, 4096, 32, 8, 14336, 128256, 0)
BATCHES = {"gpt2": (8, 1024), "llama3": (1, 4096)}  # sequences per GPU, positions
# Plans depend on these definitions.
DEFINITIONS = {
    "d2l/jax.py": {
        *("TARGET", "compile_only_devices"),
        *("output_shardings", "place", "plan_memory", "TransformerLayer"),
        *("mlp_loss", "adam_state", "adam_step", "Decoder", "decoder_params"),
        *("normalize", "rotate", "decoder_layer", "decoder_loss"),
        "language_model_plan",
    },
    "benchmarks/plans.py": {
        *("GPT2", "LLAMA3", "BATCHES", "models", "plan_mlp", "plan_layer"),
    },
}
# The plans whose programs are stored, too, depend on these.
SECTION = "chapter_gpus/compiling.md"
PROGRAM_DEFINITIONS = {
    SECTION: {"chain", "layer"},
    "d2l/jax.py": {
        *("TARGET", "compile_only_devices"),
        *("output_shardings", "place", "plan_memory"),
    },
    "benchmarks/plans.py": {"plan_programs", "without_origin"},
}


def inputs_digest(root: Path = ROOT, needed: dict[str, set[str]] = DEFINITIONS) -> str:
    """Return a hash of all that the plans depend on; this needs no framework."""
    parts: list[Any] = [
        definitions(root / file, names) for file, names in needed.items()
    ]
    parts += [card_properties(root), compiler_pins(root)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def card_properties(root: Path) -> list[tuple[str, str, str]]:
    """Return the properties of cards of which the compiler gets to know."""
    ((_, code),) = definitions(root / "d2l/jax.py", {"TARGET"})
    target = ast.literal_eval(code.removeprefix("TARGET = "))
    names = {name for _, name, *_ in string.Formatter().parse(target)}
    names |= {"capability"}  # `major` and `minor` of the description
    with (root / "d2l/cards.csv").open(encoding="utf-8", newline="") as file:
        rows = [(r["card"], r["property"], r["value"]) for r in csv.DictReader(file)]
    return [row for row in rows if row[0] in CARDS and row[1] in names]


def compiler_pins(root: Path) -> list[str]:
    """Return the pinned versions of JAX and of NVIDIA's packages."""
    pins = environments.pins_on(environments.RECORDING, "plans", root)
    return sorted(pin for pin in pins if "cu" in pin or "jax" in pin)


def definitions(file: Path, names: set[str]) -> list[tuple[str, str]]:
    """Return the code of some definitions, without comments and docstrings.

    Those of a section are the ones of its JAX tab.
    """
    code = file.read_text("utf-8")
    if file.suffix == ".md":
        cells = Section(file.stem, file).cells
        code = "\n".join(cell.code for cell in cells if cell.is_for("jax"))
    found = {}
    for node in ast.parse(code).body:
        defined = {getattr(node, "name", "")}
        if isinstance(node, ast.Assign):
            defined = {t.id for t in node.targets if isinstance(t, ast.Name)}
        for name in defined & names:
            found[name] = ast.unparse(without_docstring(node))
    if missing := names - found.keys():
        raise ValueError(f"{file} does not define {', '.join(sorted(missing))}")
    return sorted(found.items())


def without_docstring(node: ast.stmt) -> ast.stmt:
    """Return a statement, without its docstring if it is a function with one."""
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
        node.body = node.body[1:]
    return node


def models(d2l: Any) -> Iterator[tuple[str, Callable]]:
    """Yield each model's name and a function that plans it on some GPUs of a card.

    The MLP is `DeepMLP` with 2048 examples per GPU. Each GPU stores its whole state.
    """
    yield "layer", functools.partial(plan_layer, d2l)
    decoders = {"gpt2": GPT2, "llama3": LLAMA3}
    for checkpoint in False, True:
        ending = "-checkpointing" if checkpoint else ""
        yield f"mlp{ending}", functools.partial(plan_mlp, d2l, checkpoint)
        for name, sizes in decoders.items():
            yield (
                f"{name}{ending}",
                functools.partial(
                    d2l.language_model_plan,
                    d2l.Decoder(*sizes),
                    BATCHES[name],
                    checkpoint=checkpoint,
                ),
            )


def plan_mlp(d2l: Any, checkpoint: bool, card: str, num_gpus: int) -> Any:
    """Return the plan of a step of `DeepMLP` with Adam."""
    import jax
    from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    params = [(shape((128, 128)), shape((128,)))] * 16
    mesh = AbstractMesh((num_gpus,), ("gpu",))
    rows = NamedSharding(mesh, PartitionSpec("gpu"))
    X = shape((2048 * num_gpus, 128), sharding=rows)
    step = d2l.adam_step(functools.partial(d2l.mlp_loss, checkpoint=checkpoint))
    state = d2l.adam_state(params)
    return d2l.plan_memory(step, state, X, card=card, num_gpus=num_gpus, donate=[0])


def plan_layer(d2l: Any, card: str, num_gpus: int) -> Any:
    """Return the plan of the gradient of a layer, with 4 x 512 positions per GPU."""
    import jax
    from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

    dtype = "bfloat16" if d2l.card_data(card)["capability"] >= 8 else "float16"
    mesh = AbstractMesh((num_gpus,), ("gpu",))
    rows = NamedSharding(mesh, PartitionSpec("gpu"))
    X = jax.ShapeDtypeStruct((4 * num_gpus, 512, 256), dtype, sharding=rows)
    layer, key = d2l.TransformerLayer(256, 8), jax.random.key(0)
    params = jax.eval_shape(layer.init, {"params": key, "dropout": key}, X)
    params = jax.tree.map(lambda p: jax.ShapeDtypeStruct(p.shape, dtype), params)

    def total(args, key):
        Y = layer.apply(*args, rngs={"dropout": key})
        return Y.astype("float32").sum()

    return d2l.plan_memory(
        jax.grad(total), (params, X), key, card=card, num_gpus=num_gpus
    )


def plan_programs(d2l: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and the plans of the functions of compiling.md, for an H100."""
    import jax
    from flax import linen

    names: dict[str, Any] = {"nn": linen}
    for _, code in definitions(ROOT / SECTION, PROGRAM_DEFINITIONS[SECTION]):
        exec(code, names)
    layer, matrix = names["layer"], [(4096, 1024), (1024,), (1024,)]
    calls: dict[str, tuple[Callable, list]] = {
        "chain": (names["chain"], [(2**24,)]),
        "norm": (functools.partial(layer, fast=False), matrix),
        "norm-fast": (functools.partial(layer, fast=True), matrix),
    }
    for name, (function, shapes) in calls.items():
        args = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
        yield name, d2l.plan_memory(function, *args, card="H100")


def without_origin(program: str) -> str:
    """Return the functions of a program of XLA, without their places in Python."""
    program = program[program.index("\n%") :]
    origin = r', (?:metadata|sharding|frontend_attributes)=\{(?:"[^"]*"|[^}"])*\}'
    return re.sub(r"\n+", "; ", re.sub(origin, "", program).strip())


def rows() -> Iterator[dict]:
    """Yield the row of each plan, and print it."""
    from d2l import jax as d2l

    digest = inputs_digest()
    for name, plan_on in models(d2l):
        for card, num_gpus in EVERYWHERE + MORE.get(name, []):
            yield row(name, plan_on(card=card, num_gpus=num_gpus), digest)
    yield from program_rows(d2l)


def program_rows(d2l: Any) -> Iterator[dict]:
    """Yield the row of each plan whose program is stored, too, and print it."""
    digest = inputs_digest(needed=PROGRAM_DEFINITIONS)
    for name, plan in plan_programs(d2l):
        yield row(name, plan, digest) | {"text": without_origin(plan.text)}


def row(name: str, plan: Any, digest: str) -> dict:
    """Return the row of a plan, without its program, and print it."""
    import jax

    roles = {role: getattr(plan, role) for role in ROLES}
    values = {"model": name, "card": plan.card, "num_gpus": plan.num_gpus} | roles
    print(*values.values(), flush=True)
    return values | {"text": "", "jax": jax.__version__, "inputs": digest}


def write_table(path: Path, columns: Sequence[str], table: list[dict]) -> None:
    """Write a file of comma-separated values, whole or not at all; print its name."""
    draft = path.with_suffix(".csv.new")
    with draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    draft.replace(path)
    print(path.relative_to(ROOT), file=sys.stderr)


def main() -> None:
    """Plan all models, and write the file."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    write_table(FILE, COLUMNS, list(rows()))


if __name__ == "__main__":
    main()
