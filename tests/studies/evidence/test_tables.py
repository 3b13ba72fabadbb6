"""Tables: who kept up on made-up scores, verdicts branch by branch, awkward files, and an encoder broken on purpose."""

import numpy as np
import pytest

from ftheta.data import TableEncoder, read_csv
from ftheta.studies.evidence import tables
from ftheta.studies.evidence._awkward import FILES, content
from ftheta.studies.evidence.tables import SUBSTITUTES, Config, judge, kept_up, measure


def scores(difference, linear=0.8, constant=0.5, splits=10):
    """Peers at 0.7 and 0.8; ours beside the better one with a standard error of 0.01."""
    noise = np.tile([0.03, -0.03], splits // 2) * np.sqrt((splits - 1) / splits)
    rows = [0.8 + difference + noise, np.full(splits, 0.7), np.full(splits, 0.8)]
    return np.stack([*rows, np.full(splits, linear), np.full(splits, constant)], axis=1)


@pytest.mark.parametrize(("difference", "kept"), [(0.1, True), (0.0, True), (-0.009, True), (-0.011, False)])
def test_within_one_standard_error_of_the_better_peer_is_keeping_up(difference, kept):
    mean, error, found = kept_up(scores(difference))
    assert mean == pytest.approx(difference) and found == kept
    each = scores(difference)[:, 0] - 0.8
    assert error == pytest.approx(np.std(each, ddof=1) / np.sqrt(10))


def made(behind=0, **more):
    names = [*SUBSTITUTES, *(f"t{i}" for i in range(14))]
    each = [scores(-0.2 if i < behind else 0.0, **more) for i in range(17)]
    return {"tables": names, "scores": np.stack(each)}


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (made(), "confirmed"),
        (made(behind=3), "confirmed"),
        (made(behind=4), "not reproduced"),
        (made(linear=0.54), "not reproduced"),  # no better than a constant answer
        (made(linear=np.nan), "not reproduced"),
    ],
)
def test_verdicts(evidence, verdict):
    (found,) = judge(evidence)
    assert (found.row, found.verdict) == ("A013", verdict)
    assert ("behind on passengers" in found.why) == (kept_up(evidence["scores"][0])[2] is False)


@pytest.mark.middle
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.middle) if n == "orders" else n for n in FILES])
def test_an_awkward_file_is_read_whole(name, tmp_path):
    path = tmp_path / f"{name}.csv"
    path.write_bytes(content(name, seed=3, rows=60))
    data = read_csv(path, FILES[name].target)
    columns = FILES[name].make(np.random.default_rng([3, *map(ord, name)]), 60)
    assert data.x.shape[1] == len(columns) - 1 and len(data.x) >= 55 and data.task != "none"
    assert content(name, seed=3, rows=60) == path.read_bytes() != content(name, seed=4, rows=60)


SMALL = Config(tables=tuple(SUBSTITUTES), splits=2, rows=300)


@pytest.mark.slow
@pytest.mark.middle
def test_an_encoder_that_mixes_rows_up_changes_the_verdict(monkeypatch):
    assert judge(measure(SMALL))[0].verdict == tables.CLAIMS["A013"]
    right = TableEncoder.transform
    monkeypatch.setattr(TableEncoder, "transform", lambda self, X: np.roll(right(self, X), 1, axis=0))
    assert judge(measure(SMALL))[0].verdict == "not reproduced"
