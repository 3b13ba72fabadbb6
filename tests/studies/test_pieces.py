"""Units of work: made in order, kept one by one, counted on the screen."""

import pytest

from ftheta.errors import RunError
from ftheta.store import Run
from ftheta.studies._pieces import Pieces
from ftheta.studies._study import pieces


def test_pieces_come_in_the_order_of_their_keys():
    assert pieces(lambda a, b: f"{a}{b}", [("x", 1), ("y", 2), ("x", 3)]) == ["x1", "y2", "x3"]
    assert pieces(pow, []) == []


def test_every_piece_is_in_the_run_before_the_next_is_begun(tmp_path):
    run = Run(tmp_path)

    def work(i):
        found = run.latest()
        return [] if found is None else [*found[0]["process"]["done"]]

    assert pieces(work, [(i,) for i in range(3)], run) == [[], [[]], [[], [[]]]]
    assert [row["piece"] for row in run.rows()] == [1, 2, 3]
    assert all(row["seconds"] >= 0 for row in run.rows())


def test_what_is_done_is_the_state():
    first = Pieces(pow, [(2, 1), (2, 2), (2, 3)])
    assert first.advance()["piece"] == 1 and first.advance()["piece"] == 2
    second = Pieces(pow, [(2, 1), (2, 2), (2, 3)])
    second.load_state_dict(first.state_dict())
    second.advance()
    assert second.done == [2, 4, 8] and first.done == [2, 4]


def test_pieces_of_other_versions_are_not_mixed_in_silently(tmp_path, monkeypatch):
    def work(i):
        if i == 1:
            raise KeyboardInterrupt
        return i

    with pytest.raises(KeyboardInterrupt):
        pieces(work, [(0,), (1,)], Run(tmp_path))
    monkeypatch.setattr("torch.__version__", "0.0")
    with pytest.raises(RunError, match="--allow-inexact"):
        pieces(int, [(0,), (1,)], Run(tmp_path))
    assert pieces(int, [(0,), (1,)], Run(tmp_path, allow_inexact=True)) == [0, 1]


@pytest.mark.slow
def test_progress_counts_pieces_that_are_done(tmp_path, capsys, monkeypatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("ftheta.train.callbacks.time.monotonic", lambda: float(next(clock)))
    pieces(int, [(0,), (1,)], Run(tmp_path))
    assert capsys.readouterr().err.splitlines() == ["piece 1/2", "piece 2/2"]
    pieces(int, [(0,), (1,)])
    assert capsys.readouterr().err == ""  # no terminal, no run
