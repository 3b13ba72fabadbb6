"""Tables in every notation, and results that show themselves."""

import math
from dataclasses import FrozenInstanceError, dataclass, fields
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from ftheta.errors import InputError
from ftheta.plots import curves
from ftheta.results import Result, Table, digits_of, fixed, svg

TABLE = Table({"name": ["a_b", "c|d&e<f>"], "n": [10, 2], "score": [0.5, np.float32(12.3456)]}, caption="50 % of <it>")


def test_text_is_aligned_with_numbers_to_the_right():
    assert str(TABLE) == TABLE.text()
    assert TABLE.text().split("\n") == [
        "50 % of <it>",
        "name       n   score",
        "--------  --  ------",
        "a_b       10  0.5000",
        "c|d&e<f>   2   12.35",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "True"), (3, "3"), (np.int64(12345678), "12345678"), (1234.4, "1234"), (0.0, "0.000"),
        (0.00001234567, "1.235e-05"), (math.nan, ""), (-math.inf, "-inf"), (torch.tensor(2.5), "2.500"), ("x", "x"),
        (123456.0, "1.235e+05"),
    ],
)  # fmt: skip
def test_cells_are_short_and_true(value, text):
    assert Table({"v": [value]}).text().split("\n")[2:] == [text]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((0.12345,), "0.123"), ((1234.5,), "1234"), ((9.87654, 9.0, 10.0), "9.9"), ((0.5, 0.48, 0.52), "0.500"),
     ((7.0, 7.0, 7.0), "7.00"), ((0.0,), "0.000"), ((None,), "none")],
)  # fmt: skip
def test_a_number_has_three_digits_or_as_many_as_its_interval_supports(numbers, text):
    assert fixed(numbers[0], digits_of(*numbers)) == text


def test_a_gap_among_numbers_leaves_them_to_the_right():
    assert Table({"v": [None, 10]}).markdown().split("\n")[1] == "| --: |"
    assert Table({"v": [None, "x"]}).markdown().split("\n")[1] == "| :-- |"
    assert Table({"v": [True]}).markdown().split("\n")[1] == "| :-- |"
    assert Table({"v": [None]}).markdown().split("\n")[1] == "| :-- |"


def test_markdown_escapes_what_would_break_a_row():
    lines = TABLE.markdown().split("\n")
    assert lines[:2] == ["| name | n | score |", "| :-- | --: | --: |"]
    assert lines[3] == r"| c\|d&e&lt;f> | 2 | 12.35 |" and lines[-1] == "50 % of <it>"
    assert "\n" not in Table({"a\nb": []}).markdown().split("| :-- |")[0].rstrip("\n")


def test_latex_escapes_what_would_break_a_row():
    text = TABLE.latex()
    assert r"\begin{tabular}{lrr}" in text and r"a\_b & 10 & 0.5000 \\" in text
    assert r"c|d\&e<f> & 2 & 12.35 \\" in text and r"\caption{50 \% of <it>}" in text
    bare = Table({"x": ["\\^~{}$#"]}).latex()
    assert (
        bare.startswith(r"\begin{tabular}{l}")
        and r"\textbackslash{}\textasciicircum{}\textasciitilde{}\{\}\$\#" in bare
    )


def test_html_is_escaped():
    html = Table({"<script>": ["<b>", '"&']}, caption="<i>").html()
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
    assert "&lt;script&gt;" in html and "&quot;&amp;" in html
    assert TABLE._repr_html_() == TABLE.html() and '<td style="text-align:right">12.35</td>' in TABLE.html()


def test_a_frame_keeps_the_numbers_unrounded():
    frame = TABLE.frame()
    assert frame.columns.tolist() == ["name", "n", "score"] and frame["score"][1] == float(np.float32(12.3456))


def test_columns_of_different_length_are_refused():
    with pytest.raises(InputError, match=r"columns of a table differ in length: \{'a': 1, 'b': 2\}"):
        Table({"a": [1], "b": [1, 2]})


class Loss(Result):
    values: np.ndarray

    def columns(self):
        return {"loss": self.values, "weight": None}

    @property
    def caption(self):
        return "Loss per epoch"

    def figure(self) -> Figure:
        return curves({"loss": self.values})


def test_a_result_shows_its_figure_and_its_table_folded():
    html = Loss(np.array([3.0, 2.0]))._repr_html_()
    assert html.startswith("<svg") and "<?xml" not in html and 'aria-label="Loss per epoch"' in html
    assert html.index("</svg>") < html.index("<details") < html.index("<table>") < html.index("</details>")


@pytest.mark.parametrize("again", [lambda cls: cls, dataclass(frozen=True, eq=False)])
def test_a_result_is_a_frozen_dataclass_with_a_decorator_or_without(again):
    @again
    class Weighted(Loss, kw_only=True):
        weight: float = 1.0

    found = Weighted(np.ones(2), weight=2.0)
    assert [f.name for f in fields(found)] == ["values", "weight"] and found.weight == 2.0
    for change in (lambda: setattr(found, "weight", 3.0), lambda: delattr(found, "weight")):
        with pytest.raises(FrozenInstanceError, match="weight"):
            change()
    assert found != Weighted(found.values, weight=2.0) and {found: 1}[found] == 1  # equal only to itself
    assert repr(found) == "Weighted(values=ndarray(2,), weight=2.0)"


def test_results_without_arrays_may_be_equal_by_their_fields():
    class Named(Loss, eq=True):
        name: str

    one, same, other = (Named((3.0, 2.0), name) for name in "aab")
    assert one == same != other and len({one, same, other}) == 2


def test_a_result_declares_columns_and_caption():
    table = Loss(np.array([3.0, np.nan])).table()
    assert table.text().split("\n") == ["Loss per epoch", " loss", "-----", "3.000", ""]
    assert np.isnan(table.frame()["loss"][1]) and list(table.columns) == ["loss"]


def test_the_repr_of_a_result_fits_on_a_screen():
    assert repr(Loss(np.zeros((300, 4)))) == "Loss(values=ndarray(300, 4))"
    assert repr(Loss(list(range(1000)))) == "Loss(values=list of 1000)"
    assert len(repr(Loss("x" * 1000))) < 100


def test_a_figure_says_in_words_what_it_shows():
    assert svg(curves({"loss": [1.0]}), 'a "b" <c>').startswith(
        '<svg role="img" aria-label="a &quot;b&quot; &lt;c&gt;" '
    )
    assert svg(curves({"loss": [1.0]}, title="Loss & more")).startswith('<svg role="img" aria-label="Loss &amp; more" ')
    ElementTree.fromstring(svg(curves({"loss": [1.0]}), "a\nb"))


def test_the_same_figure_is_the_same_text():
    assert svg(curves({"loss": [1.0, 2.0]})) == svg(curves({"loss": [1.0, 2.0]}))


def test_a_result_is_frozen_and_its_parts_are_not_optional():
    with pytest.raises(FrozenInstanceError):
        Loss(np.zeros(1)).values = np.ones(1)
    with pytest.raises(TypeError, match="abstract"):
        Result()


def test_nothing_heavy_is_imported(fresh):
    assert fresh("import ftheta.results") == set()


def test_the_last_bit_of_a_layout_does_not_change_a_drawing():
    """Constrained layout does not repeat it, and matplotlib names parts of a drawing by it."""
    drawn = []
    for left in (0.1, np.nextafter(0.1, 1)):
        figure = Figure()
        axes = figure.add_axes((left, 0.1, 0.8, 0.8))
        axes.plot([0, 1], [0, 1], marker="o")
        axes.scatter([0, 1], [1, 0], c=[0.0, 1.0])
        drawn.append(svg(figure))
    assert drawn[0] == drawn[1]
    tree = ElementTree.fromstring(drawn[0])
    names = [part.get("id") for part in tree.iter() if part.get("id")]
    used = {value[1:] for part in tree.iter() for key, value in part.items() if key.endswith("href")}
    assert len(set(names)) == len(names) and used and used <= set(names)
