"""What Spark's Python processes keep and do, without Spark: blocks in files, turns, the plan."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from partita.source import spark_turns
from partita.source.partitions import aligned_sizes
from partita.source.spark_partitions import _pieces
from partita.source.spark_rows import ReadBlock, folder_of
from partita.source.spark_turns import Holders, Report, Turn

pa = pytest.importorskip("pyarrow")

SIZES = [1, 255, 257, 0, 300, 1000, 1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    monkeypatch.setattr(spark_turns, "_HELD", {})
    monkeypatch.setattr(spark_turns, "_LAST_TURN", {})
    return folder_of("fit")


class Sent:
    def __init__(self, value):
        self.value = value


def batches(rows, weight, size=100):
    for i in range(0, len(rows), size):
        arrays = [pa.array(list(rows[i : i + size])), pa.array(weight[i : i + size])]
        yield pa.RecordBatch.from_arrays(arrays, ["rows", "weight"])


def read_pieces(dtype):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(sum(SIZES), 3)).astype(dtype), rng.random(sum(SIZES))
    cuts = np.cumsum(SIZES)[:-1]
    blocks = zip(np.split(X, cuts), np.split(weight, cuts), strict=True)
    read = ReadBlock("fit", np.dtype(dtype).name, weighted=True)
    facts = [read.read(batches(*block), i) for i, block in enumerate(blocks)]
    return X, weight, list(_pieces(facts, 3, np.dtype(dtype), weighted=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_partitions_map_every_row_and_weight_once_in_order(folder, dtype):
    X, weight, pieces = read_pieces(dtype)
    for _ in range(2):  # a second process finds what the first one has appended
        parts = [piece.open(folder) for piece in pieces]
        assert [len(part.rows) for part in parts] == aligned_sizes(SIZES)
        assert [part.start for part in parts] == np.cumsum([0, *aligned_sizes(SIZES)])[:-1].tolist()
        assert np.concatenate([part.rows for part in parts]).tobytes() == X.tobytes()
        assert np.concatenate([part.weight for part in parts]).tobytes() == weight.tobytes()


def test_a_block_that_is_read_again_with_other_rows_is_not_taken_for_the_first(folder):
    _, _, pieces = read_pieces(np.float64)
    last = pieces[-1]
    shutil.rmtree(folder)
    assert last.open(folder) is None
    other = np.random.default_rng(1).normal(size=(last.skipped + last.rows, 3))
    ReadBlock("fit", "float64", True).read(batches(other, other[:, 0]), last.block)
    assert last.open(folder) is None


def count_rows(part):
    part.state["calls"] = part.state.get("calls", 0) + 1
    return len(part.rows)


def call(turn, block=0):
    (report,) = turn(block, iter([]))
    return report


def test_a_process_works_once_a_turn_on_what_it_holds_and_forgets_the_rest(folder):
    _, _, pieces = read_pieces(np.float64)
    sizes, every = aligned_sizes(SIZES), frozenset(range(len(pieces)))
    me = call(Turn("fit", 0, count_rows, None, Sent(pieces), every, {}, {})).process

    def turn(number, mine, add=None, which=every):
        return Turn("fit", number, count_rows, add, Sent(pieces), which, {me: mine}, {})

    assert call(turn(1, [0, 2])) == Report(me, (0, 2), [sizes[0], sizes[2]])
    assert call(turn(1, [0, 2])) == Report(me, (), [])
    assert call(turn(2, [0, 2], int.__add__)).results == [sizes[0] + sizes[2]]
    assert call(turn(3, [0, 2], which=frozenset([2]))).done == (2,)
    held = spark_turns._HELD["fit"]
    assert {i: part.state["calls"] for i, part in held.items()} == {0: 2, 2: 3}
    assert call(turn(4, [2, 1])).done == (2, 1)
    assert {i: part.state["calls"] for i, part in held.items()} == {2: 4, 1: 1}


def test_a_ticket_names_its_partition_and_says_if_its_rows_are_not_here(folder):
    _, _, pieces = read_pieces(np.float64)
    by_ticket = {piece.block: i for i, piece in enumerate(pieces)}
    turn = Turn("fit", 1, count_rows, None, Sent(pieces), frozenset([1]), None, by_ticket)
    assert call(turn, pieces[1].block).done == (1,)
    shutil.rmtree(folder)
    assert call(turn, pieces[1].block).done == (1,)  # still mapped
    spark_turns._HELD.clear()
    assert call(turn, pieces[1].block).done == ()


def test_the_state_of_a_fit_that_is_over_is_forgotten(folder):
    _, _, pieces = read_pieces(np.float64)
    which = frozenset([0])
    call(Turn("fit", 1, count_rows, None, Sent(pieces), which, None, {0: 0}))
    assert list(spark_turns._HELD) == ["fit"]
    shutil.rmtree(folder)
    call(Turn("other", 1, count_rows, None, Sent(pieces), which, {}, {}))
    assert list(spark_turns._HELD) == ["other"]


def test_partitions_stay_where_they_are_unless_a_process_of_the_executor_has_fewer_by_two():
    holders = Holders()
    one, two, far = ("a", 1), ("a", 2), ("b", 1)
    holders.record([Report(one, (0, 1, 2, 3), []), Report(far, (4, 5, 6), [])])
    assert holders.plan() == {one: [0, 1, 2, 3], far: [4, 5, 6]}
    holders.record([Report(two, (), []), Report(one, (), [])])
    balanced = holders.plan()
    assert sorted(map(len, balanced.values())) == [2, 2, 3]
    assert balanced[far] == [4, 5, 6]
    holders.record([Report(process, tuple(held), []) for process, held in balanced.items()])
    assert holders.plan() == balanced
    holders.record([Report(one, (), []), Report(("a", 3), (), [])])  # one that has none of four
    assert sorted(len(held) for process, held in holders.plan().items() if process != far) == [
        1, 1, 2,
    ]  # fmt: skip
