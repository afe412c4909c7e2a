"""The stored collectives belong to the code and to the compiler of this tree."""

import csv

from benchmarks import collectives


def test_the_file_is_up_to_date():
    with collectives.FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["inputs"] for row in rows} == {collectives.inputs_digest()}
    assert tuple(rows[0]) == collectives.COLUMNS
    found = {(row["layout"], int(row["num_gpus"])) for row in rows}
    assert found == {(x, n) for x in collectives.LAYOUTS for n in collectives.NUMBERS}


def test_bytes_do_not_depend_on_the_number_of_gpus():
    with collectives.FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds: dict = {}
    for row in rows:
        kinds.setdefault((row["layout"], row["kind"]), set()).add(row["nbytes"])
    assert all(len(sizes) == 1 for sizes in kinds.values())
