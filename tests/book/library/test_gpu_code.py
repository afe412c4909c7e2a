"""The code of the library that needs a GPU, and the tests that run it without one.

Stand-ins take the place of the GPU or of the functions that need one. An empty name
marks code that no test runs: run it first on a new machine with a GPU.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TESTS = "\n".join(
    path.read_text("utf-8") for path in sorted((ROOT / "tests/d2l").glob("test_*.py"))
)
SIGNS = {"num_gpus", "try_gpu", "gpu", "is_cuda", "cuda", "nccl", "accelerator", "GPU"}

EVERYWHERE = {
    "num_gpus": "number_of_gpus",
    "try_gpu": "gpus_come_first",
    "try_all_gpus": "gpus_come_first",
    "try_devices": "gpus_come_first",
    "first_gpus": "the_gpus_asked_for",
    "require_gpu": "a_gpu_that_is_there",
    "make_language_model": "weights_and_caches_are_on_the_first_gpu",
    "make_cache": "weights_and_caches_are_on_the_first_gpu",
    "measure_machine": "",
}
KERNELS = {
    "run_kernel": "the_device_runs_the_kernel_where_there_is_one",
    "compile_kernel": "a_simulated_kernel_can_be_compiled",
}
LISTS = {
    "torch": {
        "get_tensorloader": "loaders_pin_their_minibatches_where_there_is_a_gpu",
        "get_dataloader": "",
        "accelerator": "a_gpu_is_whatever_accelerator_there_is",
        "gpu": "devices_are_names",
        "device_exists": "a_gpu_is_whatever_accelerator_there_is",
        "synchronize": "synchronize_waits_for_all_gpus",
        "copied_ahead": "copies_in_a_second_stream_overlap_with_the_steps",
        "run_kernel": "a_kernel_runs_on_the_gpu_of_its_arguments",
        "compile_kernel": "more_warps_share_the_registers",
        "triton_code": "the_compiler_writes_triton_for_a_card_that_is_not_there",
        "fake": "",
        "framework_info": "memory_that_pytorch_holds",
        "init_group": "a_rank_uses_its_own_gpu_and_nccl",
        "join_ranks": "",
        "own_device": "a_rank_uses_its_own_gpu_and_nccl",
        "can_fork": "ranks_train_alike_in_new_interpreters",
        "own_randomness": "the_random_numbers_of_a_ranks_gpu_are_its_own",
        "random_state": "checkpoints_have_the_random_state_of_the_gpu",
        "set_random_state": "checkpoints_have_the_random_state_of_the_gpu",
    },
    "mxnet": {
        **KERNELS,
        "gpu": "",
        "device_exists": "devices_that_do_not_exist_are_refused_in_one_line",
        "product_types": "products_of_16_bits_are_measured_only_on_a_gpu",
        "framework_info": "",
        "rank_environment": "a_worker_sees_a_gpu_of_its_own",
    },
    "jax": {
        "gpu": "gpus_are_the_default_devices",
        "synchronize": "",
        "run_kernel": "",
        "device_group": "a_group_of_devices_of_one_kind",
        "compile_only_devices": "",
        "framework_info": "memory_that_jax_holds",
        "rank_environment": "a_rank_has_a_gpu_of_its_own",
    },
    "tensorflow": {
        **KERNELS,
        "memory_info": "memory_is_that_of_the_first_gpu",
        "framework_info": "",
        "mirrored_strategy": "gpus_add_up_with_the_strategys_own_collectives",
    },
}


def words(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what a function calls and imports, its attributes, and its strings.

    Plans for other machines have an argument `num_gpus` and an axis "gpu".
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.keyword) and node.arg != "num_gpus":
            yield f"{node.arg}"
        elif isinstance(node, ast.Constant) and node.value != "gpu":
            yield str(node.value)


@pytest.mark.parametrize("library", LISTS)
def test_code_that_needs_a_gpu_is_listed(library):
    tree = ast.parse((ROOT / f"d2l/{library}.py").read_text("utf-8"))
    classes = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [
        node for node in sum(classes, tree.body) if isinstance(node, ast.FunctionDef)
    ]
    found = {f.name for f in functions if SIGNS & set(words(f))}
    assert found == {*EVERYWHERE, *LISTS[library]}


@pytest.mark.parametrize("library", LISTS)
def test_tests_of_code_that_needs_a_gpu_exist(library):
    names = {*EVERYWHERE.values(), *LISTS[library].values()} - {""}
    assert [name for name in names if f"def test_{name}(" not in TESTS] == []
