"""The page of a run: what it says, that it is closed, and that nobody's words become markup."""

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from markupsafe import Markup

from ftheta import LinearRegression, catalog, explain, measure
from ftheta.errors import InputError
from ftheta.jobs import pages
from ftheta.jobs.prepare import explained_step
from ftheta.jobs.report import page
from tests.jobs._pages import NASTY, made


class Reader(HTMLParser):
    """Tags with their attributes, and the text outside of styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data.strip())

    @property
    def text(self):
        return " ".join(word for word in self.words if word)

    def all(self, *names):
        return [attrs for tag, attrs in self.tags if tag in names]


@cache
def run_of(name, **changes):
    return made(Path(mkdtemp()) / "run", name, **changes)


@cache
def text_of(name, **changes):
    """Not under `undrawn`: the page is kept, with its figures."""
    return run_of(name, **changes).page()


def changed(tmp_path, name="wine", **changes):
    return made(tmp_path / "run", name, epochs=1, **changes)


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without their figures, for what is said beside them."""
    monkeypatch.setattr(pages, "figure_html", lambda figure, anchor, alt: Markup(""))


kinds = pytest.mark.parametrize("name", ["wine", pytest.param("diabetes", marks=pytest.mark.middle)])


@pytest.mark.middle
def test_the_same_run_gives_the_same_bytes():
    assert run_of("wine").page() == text_of("wine")


@kinds
def test_headings_nest_and_the_contents_lead_to_all_sections(name):
    page = Reader(text_of(name))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))
    sections = [attrs["id"] for tag, attrs in page.tags if tag == "h2"]
    linked = [attrs["href"] for attrs in page.all("a")]
    assert linked == [f"#{name}" for name in sections]
    expected = "result most-wrong where-it-errs predictions training inside-the-model data repeat-it".split()
    assert sections == [s for s in expected if s != "predictions" or name == "wine"]  # else it is on the first screen


@kinds
def test_no_name_is_used_twice_and_every_reference_has_its_target(name):
    text = text_of(name)
    ids = [attrs["id"] for _, attrs in Reader(text).tags if "id" in attrs]
    assert [name for name, n in Counter(ids).items() if n > 1] == []
    wanted = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    assert wanted and wanted <= set(ids)


@kinds
def test_nothing_is_fetched_and_nothing_runs(name):
    page = Reader(text_of(name))
    assert page.all("script", "link", "iframe", "object", "base", "form") == []
    places = [v for _, attrs in page.tags for k, v in attrs.items() if k in ("src", "href", "xlink:href", "srcset")]
    assert places and all(place.startswith(("#", "data:image/png;base64,")) for place in places)
    assert not re.search(r"@import|url\((?!#)", text_of(name))
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert len(text_of(name)) < 3e6


@kinds
def test_figures_have_words_and_tables_have_scoped_headers(name):
    page = Reader(text_of(name))
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in page.all("svg"))
    assert page.all("th") and all(attrs["scope"] == "col" for attrs in page.all("th"))
    assert len(page.all("svg")) == (9 if name == "wine" else 6)


def test_the_most_wrong_pictures_are_pictures(tmp_path, undrawn):
    pictures = Reader(changed(tmp_path, "digits").page()).all("img")
    assert len(pictures) == 12 and all(re.match(r"Row \d+: \d( predicted as \d|, unsure)$", p["alt"]) for p in pictures)


@pytest.mark.middle
def test_somebodys_words_stay_words():
    """Names of data, target, columns and classes, notes, leaks and the command, in text, attributes and figures."""
    strange = {"leaks": [f"leak {NASTY}"], "notes": [f"note {NASTY}"], "license": f"license {NASTY}"}
    run = made(Path(mkdtemp()) / "run", "wine", epochs=1, nasty=True, data=strange)
    page = Reader(run.page())
    assert page.all("script") == [] and not [k for _, attrs in page.tags for k in attrs if k.startswith("on")]
    for words in (f"{NASTY}, from {NASTY} mlp", f"Leak {NASTY}", f"Note {NASTY}", f"license {NASTY}",
                  f"ftheta train mlp '{NASTY}'", f"{NASTY} 11", f"{NASTY} 2"):  # fmt: skip
        assert words in page.text


def test_the_result_has_an_interval_or_says_none():
    page = Reader(text_of("wine")).text
    assert "Test part, 45 rows; 95 % confidence. metric value confidence interval method accuracy" in page
    assert re.search(r" accuracy [\d.]+ 0\.5000 to 0\.7500 Wilson balanced accuracy [\d.]+ none Most wrong", page)


def test_the_first_screen_has_a_title_cards_and_a_verdict(tmp_path, undrawn):
    """Target and file; value, interval and baseline of each first score; the picture is not shown twice."""
    simple = {"name": "always '1'", "constant": {}, "scores": {"accuracy": 0.4}, "linear": {"accuracy": 0.9}}
    simple |= {"p": 0.01, "linear_p": 0.2, "method": "McNemar"}
    text = changed(tmp_path, result={"baseline": simple, "verdict": "Accuracy is <better>."}).page()
    page = Reader(text)
    assert "y, from wine mlp classification · 178 rows, 13 columns · tested on 45 rows held out right" in page.text
    assert "95 %: 50 % to 75 % " in page.text and "always '1': 40 % linear model: 90 %" in page.text
    assert re.search(r"balanced accuracy\) \d+ % Accuracy is <better>\. Result Confusion matrix", page.text)
    assert page.text.count("Confusion matrix of") == 1 and "Confusion" not in text.partition('id="most-wrong"')[2]
    (mark,) = [a for a in page.all("div") if a.get("class") == "mark"]
    low, dot, base = (float(re.search(r"left:([\d.]+)%", a["style"])[1]) for a in page.all("i") if "style" in a)
    assert base == 8 and base < low < 92 and "always '1': 40 %" in mark["aria-label"]
    value = json.loads((tmp_path / "run/result.json").read_text())["scores"]["accuracy"]
    high = max(value, 0.75)
    assert abs(dot - (8 + 84 * (value - 0.4) / (high - 0.4))) < 0.06 > abs(low - (8 + 84 * 0.1 / (high - 0.4)))


def test_the_command_settings_seed_versions_and_digests_are_there(undrawn):
    run = run_of("wine")
    page = Reader(run.page()).text
    assert "ftheta train mlp wine --seed 7 --hidden 16,8" in page and "params.hidden [16, 8]" in page
    assert "seed 0" in page and "skip_bad" not in page and "utf-8" not in page
    assert f"numpy {np.__version__}" in page and "0" * 64 + "  data" in page
    assert re.search(r"[0-9a-f]{64} model\.safetensors", " ".join(page.split()))


def test_columns_notes_and_leaks_are_said(tmp_path, undrawn):
    columns = [{"name": f"c{i}", "kind": "text", "did": f"{i} levels"} for i in range(50)]
    data = {"leaks": ["Seven rows are on both sides."], "notes": ["A date was cut."], "columns": columns}
    page = Reader(changed(tmp_path, data=data).page()).text
    assert "Found in the data Seven rows are on both sides. Result" in page
    assert "Notes A date was cut. Columns" in page and "c49 text 49 levels" in page


def test_numbers_of_training_rows_are_not_sold_as_a_test(tmp_path, undrawn):
    said = "No rows were held out: these numbers are of rows that the model has seen."
    assert said in changed(tmp_path, result={"part": "training rows"}).page()
    assert said not in run_of("wine").page()


def test_how_often_the_test_rows_were_used_is_said_below_the_result(undrawn):
    made = run_of("wine")
    text = made.page("Twice & <more>.")
    result, _, rest = text.partition('id="training"')
    assert "</table>" in result.partition("Twice &amp; &lt;more&gt;.")[0] and "Twice" not in rest
    assert "Twice" not in run_of("wine").page()


def test_every_explanation_is_there_with_table_and_figure():
    run = run_of("wine")
    page = Reader(text_of("wine"))
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    names = [name for name in run.trained().available() if catalog.view(name).cost == "quick"]
    assert {"activations", "gradient-flow", "network", "summary"} <= set(names)
    assert not {"explain-landscape", "explain-learning-rate", "explain-spectrum"} & ids
    assert "explain-summary" not in ids and "tensors" in page.text  # its table stands below the network
    for name in set(names) - {"curves", "summary"}:
        assert f'<h3 id="explain-{name}">{catalog.view(name).question}<' in text_of("wine")
        assert f"explain-{name}" in ids and f"{name}-axes_1" in ids
        assert all(str(cell) in page.text for cell in explain.run(name, run.estimator, *run.train).table().columns)
    assert "curves-axes_1" in ids and "explain-curves" not in ids and "8 epochs." in page.text


def test_without_names_the_first_six_quick_explanations_are_given(monkeypatch):
    trained = run_of("wine").trained()
    names = list(catalog.VIEWS)
    monkeypatch.setattr(type(trained), "available", lambda self: names)
    monkeypatch.setattr(type(trained), "explained", lambda self, name, row: row)
    assert [name for name, _ in trained.explain()] == [n for n in names if catalog.VIEWS[n].cost == "quick"][:6]
    assert list(trained.explain(every=True, row=3)) == [(name, 3) for name in names]


def test_explanations_look_at_some_of_many_rows_and_those_of_the_fit_at_all(monkeypatch, undrawn):
    seen, run = [], run_of("wine")
    monkeypatch.setattr(explain, "available", lambda obj: ["statistics", "summary"])
    monkeypatch.setattr(
        explain, "run", lambda name, obj, X, y, **words: seen.append((name, X[:, 0], y)) or explain.summary(obj)
    )
    X, y = np.arange(2500 * 13.0).reshape(2500, 13), np.arange(2500)
    trained = run.trained()
    trained.__dict__["learned_from"] = lambda *, all_rows: (X, y) if all_rows else (X[::2], y[::2])
    page(trained)
    for (name, x, given), step in zip(seen, (1, 2), strict=True):
        np.testing.assert_array_equal(x, X[::step, 0], name)
        np.testing.assert_array_equal(given, y[::step])


def test_an_explanation_that_fails_says_why(monkeypatch, undrawn):
    def fail(*_, **words):
        raise InputError("Too <few> rows; pass more.")

    monkeypatch.setattr(explain, "run", fail)
    monkeypatch.setattr(measure, "roc", fail)
    text = run_of("wine").page()
    assert text.count("Too &lt;few&gt; rows; pass more.") == 4 and "most-wrong" in text


def test_why_training_ended_is_said(monkeypatch, undrawn):
    run = run_of("wine")
    monkeypatch.setattr(run.estimator, "stop_reason_", "seconds", raising=False)
    assert "8 epochs. The time was used up." in run.page()
    monkeypatch.setattr(run.estimator, "stop_reason_", "no better for 3 epochs", raising=False)
    assert "8 epochs. Ended early: no better for 3 epochs." in run.page()


@pytest.mark.middle
def test_a_model_in_closed_form_without_probabilities_or_test_has_a_page(tmp_path, monkeypatch):
    X, y = np.eye(4), np.arange(4.0)
    run = changed(tmp_path, "diabetes")
    run.run.write("test.safetensors", {"rows": np.arange(4)})
    monkeypatch.setattr(type(run.run), "rows", lambda self: [])
    text = Reader(run._replace(estimator=LinearRegression().fit(X, y), train=(X, y)).page())
    assert "The model was fitted in closed form." in text.text
    parts = [attrs["id"] for tag, attrs in text.tags if tag == "h2"]
    assert parts == ["result", "training", "inside-the-model", "data", "repeat-it"]


def test_of_large_images_fewer_are_explained():
    steps = [explained_step(10_000, shape) for shape in ((784,), (1, 8, 8), (1, 28, 28), (3, 200, 200))]
    assert steps == [5, 5, 60, 157] and explained_step(20, (1, 28, 28)) == 1
