"""Missing cells that stay missing, and categories as codes, for models that take them as they are."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import ftheta
from ftheta import catalog, jobs
from ftheta.data import TableEncoder, encoder_of
from ftheta.data.kinds import Table
from ftheta.errors import InputError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({
    "size": np.where(np.arange(120) % 5 == 0, np.nan, RNG.normal(50, 9, 120)),
    "rooms": RNG.integers(1, 6, 120).astype(float),
    "color": np.where(np.arange(120) % 7 == 0, None, RNG.choice(["red", "green", "blue"], 120)),
    "when": pd.date_range("2020-01-01", periods=120, freq="5D").where(np.arange(120) % 11 > 0),
})  # fmt: skip


def test_missing_numbers_and_dates_stay_missing_and_have_no_column_of_their_own():
    kept = TableEncoder(missing="keep").fit(FRAME)
    z, names = kept.transform(FRAME), kept.get_feature_names_out().tolist()
    marked = TableEncoder().fit(FRAME)
    others, all_names = marked.transform(FRAME), marked.get_feature_names_out().tolist()
    assert set(all_names) - set(names) == {"size missing", "when missing"}
    for name in names:
        column, other = z[:, names.index(name)], others[:, all_names.index(name)]
        source = FRAME[name.split(" ")[0]].isna() if name.startswith(("size", "when")) else np.zeros(120, bool)
        assert np.array_equal(np.isnan(column), source), name
        assert np.array_equal(column[~source], other[~source])
    shift, scale = kept.axes()[1][names.index("size")]
    np.testing.assert_allclose(shift + scale * z[:, names.index("size")], FRAME["size"])
    assert kept.new_row_notes(FRAME.assign(rooms=np.nan)) == []  # nothing is put in their place
    with pytest.raises(InputError, match="'size' holds inf in row 3; finite numbers are needed"):
        kept.transform(FRAME.assign(size=np.where(np.arange(120) == 3, np.inf, FRAME["size"])))


def test_codes_are_categories_of_a_frame_whose_new_and_missing_cells_are_missing():
    encoder = TableEncoder(missing="keep", categories="codes").fit(FRAME)
    new = FRAME.assign(color=["violet", "red", None, "blue"] * 30)
    for made in (encoder, encoder_of(json.loads(json.dumps(encoder.get_state())))):
        found = made.transform(new)
        assert found["color"].dtype == "category" and (found.dtypes == "category").sum() == 1
        assert found["color"].astype(float).head(4).fillna(-1).tolist() == [-1, 2, -1, 0]  # blue, green, red
        assert made.get_feature_names_out().tolist() == list(found)
        (note,) = made.new_row_notes(new)
        assert note.startswith("column 'color': 30 rows with levels not seen in training ('violet')")


def test_rare_categories_share_a_code_with_new_ones():
    frame = pd.DataFrame({"town": ["A"] * 30 + ["B"] * 30 + ["C", "D"], "x": np.arange(62.0) % 7})
    encoder = TableEncoder(categories="codes").fit(frame)
    found = encoder.transform(pd.DataFrame({"town": ["B", "D", "E"], "x": 0.0}))["town"]
    assert found.astype(float).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (ftheta.BoostingRegressor(), ("keep", "codes")),
        (ftheta.ForestRegressor(), ("keep", "columns")),
        (ftheta.AdaBoostClassifier(), ("mark", "columns")),
        (ftheta.LinearRegression(), ("mark", "columns")),
    ],
)
def test_the_tags_of_an_estimator_choose(model, expected):
    encoder = Table.encoder(SimpleNamespace(x=FRAME, shape=()), model)
    assert (encoder.missing, encoder.categories) == expected


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore:constrained_layout")  # of the names of a date's columns
@pytest.mark.parametrize("model", ["boosting", "forest", "tree", "xgboost", "lightgbm"])
def test_a_run_takes_cells_as_they_are_and_is_the_same_when_it_is_opened(model, tmp_path):
    if not catalog.card(model).installed:
        pytest.skip(f"{model} is not installed")
    price = FRAME["color"].map({"red": 30.0, "blue": -30.0}).fillna(0.0) + 2 * FRAME["rooms"] + RNG.normal(size=120)
    FRAME.assign(price=price).to_csv(tmp_path / "a.csv", index=False)
    FRAME.head(9).assign(color="violet", size=np.nan).to_csv(tmp_path / "new.csv", index=False)
    small = {} if model == "tree" else {"n_estimators": 20}
    run = jobs.train(model, str(tmp_path / "a.csv"), target="price", run=tmp_path / "run", report=True, **small)
    opened = jobs.open(tmp_path / "run")
    for found in (run, opened):
        answers = found.predict(tmp_path / "new.csv")
        assert len(answers.frame) == 9 and np.isfinite(answers.frame["prediction"]).all()
        assert any("violet" in note for note in answers.notes)
    assert np.array_equal(answers.frame["prediction"], run.predict(tmp_path / "new.csv").frame["prediction"])
    names = {"tree": {"tree", "splits", "pruning"}, "forest": {"votes", "more-trees"}}.get(model, {"more-trees"})
    assert names <= set(opened.available())
    for name in names:
        assert len(opened.explained(name).table().text()) > 20
    page = (tmp_path / "run/report.html").read_text()
    assert "Trees were grown from the root down" in page
    assert model != "tree" or 0 < page.index("How does the tree decide?") < page.index("All scores")
    with pytest.raises(InputError, match="cannot be exported as Python yet"):
        opened.export(tmp_path / "script")
