"""Batches: verdicts on made-up curves, bytes counted by hand, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.batches import MEMORY, PRINTED, SIZES, TINY, _bytes, figures, judge, measure, tables

S, E = 4, np.arange(21)
WAVE = np.linspace(-1, 1, S)[:, None]


def made(ends=(0.4, 0.1, 0.11), power=1.0, near=(0.01, 0.02, 0.03), far=0.5, kept=(100, 1000, 10_000, 100_000)):
    grown = np.array([end + 0.5 * 0.7**E for end in ends])
    first = 0.5 * 0.9**E
    scaled = np.stack([first, *(first * 10**d for d in near)])
    plain = np.stack([first, *[first * 10**far] * 3])
    curves = {"grown": grown, "scaled": scaled, "plain": plain}
    variance = PRINTED[0] / np.array(SIZES) ** power * (1 + 0.05 * WAVE)
    return {k: np.stack([v] * S) for k, v in curves.items()} | {"variance": variance, "bytes": np.array(kept)}


@pytest.mark.parametrize(
    ("i", "changes", "verdict"),
    [
        (0, {}, "confirmed"),
        (0, {"ends": (0.4, 0.1, 0.3)}, "corrected"),  # a growing batch ends where the constant rate does
        (0, {"power": 0.5}, "not reproduced"),
        (0, {"ends": (0.4, 0.1, 0.3), "power": 0.5}, "refuted"),
        (1, {}, "confirmed"),
        (1, {"near": (0.01, 0.02, 0.4)}, "corrected"),
        (1, {"near": (0.01, 0.4, 0.4)}, "not reproduced"),
        (1, {"near": (0.4, 0.4, 0.4)}, "refuted"),
        (2, {}, "confirmed"),
        (2, {"kept": (100, 1000, 10_000, 200_000)}, "corrected"),
        (2, {"kept": (100, 100, 100, 100)}, "refuted"),
    ],
)
def test_verdicts(i, changes, verdict):
    found = judge(made(**changes))[i]
    assert (found.row, found.verdict) == (("B010", "A125", "A131")[i], verdict)


def test_bytes_are_those_of_input_and_activations():
    floats = 8 + 10 + 10 + 1  # input, two hidden layers (tanh keeps its output), the output that is squared
    assert [_bytes(10, size) for size in (1, 7)] == [4 * floats, 7 * 4 * floats]


def test_the_tables_have_distances_and_bytes():
    found = tables(made())
    assert found["scaling"].columns["rate times k"] == pytest.approx([0.01, 0.02, 0.03])
    assert found["scaling"].columns["same rate"] == pytest.approx([0.5] * 3)
    assert found["memory"].columns["rows"] == list(MEMORY)


@pytest.mark.middle
def test_a_small_run_grows_the_batch_instead_of_shrinking_the_rate():
    evidence = measure(TINY)
    constant, falling, growing = evidence["grown"].transpose(1, 0, 2)
    early = int(0.4 * TINY.epochs) + 1
    assert (constant[:, :early] == falling[:, :early]).all() and (constant[:, :early] == growing[:, :early]).all()
    assert (falling[:, -1] != growing[:, -1]).all() and (falling[:, -1] != constant[:, -1]).all()
    assert (evidence["scaled"][:, 0] == evidence["plain"][:, 0]).all()
    assert len(figures(evidence)["scaling"].axes) == 2 and len(judge(evidence)) == 3
