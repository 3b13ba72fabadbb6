"""Pieces of a page: long tables are cut and say so, figures are light and their names their own."""

import re

import numpy as np
import pytest

from ftheta.jobs.pages import figure_html as picture
from ftheta.jobs.pages import slug
from ftheta.jobs.pages import table_html as table
from ftheta.plots._style import panel
from ftheta.results import Table


def test_a_title_becomes_an_anchor():
    assert slug("Precision and recall") == "precision-and-recall" and slug('x"y & z') == "x-y-z"


@pytest.mark.parametrize(("n", "rows"), [(3, 3), (500, 500), (501, 500)])
def test_of_a_long_table_the_first_and_last_rows_are_shown(n, rows):
    text = table(Table({"i": range(n), "name": ["x"] * n}, "All."))
    shown = [int(i) for i in re.findall(r">(\d+)</td>", text)]
    assert len(shown) == rows and shown[:3] == [0, 1, 2] and shown[-1] == n - 1
    said = "All. The first 250 and the last 250 of 501 rows." if n > rows else "All."
    assert f'<p class="caption">{said}</p>' in text
    assert n == rows or (shown[249], shown[250]) == (249, 251)


def test_long_cells_are_cut_but_columns_are_never_merged():
    assert len(table(Table({"a": ["x" * 5000]}))) < 700
    same = "y" * 300
    assert table(Table({same + "1" + same: [1], same + "2" + same: [2]})).count("<td") == 2


def drawn(*, points=10, label="x", scale="linear"):
    figure, axes = panel(4, 3, title="T", x=label, y="y")
    axes.plot(np.arange(1, points + 1), np.arange(1, points + 1), "o")
    axes.scatter(np.arange(points), np.arange(points))
    axes.set_yscale(scale)
    return figure


def test_names_in_a_figure_begin_with_its_anchor():
    text = picture(drawn(label='id="a" url(#b) href="#c"'), "roc", 'an "alt"')
    assert set(re.findall(r' id="(.*?)[-"]', re.sub(r">[^<]*<", "><", text))) == {"roc"}
    assert 'id="a" url(#b) href="#c"' in text.replace("&quot;", '"')  # a label is no reference
    assert 'aria-label="an &quot;alt&quot;"' in text and "<metadata" not in text


def test_many_points_become_pixels_and_few_stay_shapes():
    few, many = picture(drawn(points=100), "a", "a"), picture(drawn(points=20_000), "a", "a")
    assert "<image" not in few and "data:image/png" in many and len(many) < 300_000


def test_dollars_are_dollars_and_powers_of_ten_are_powers():
    text = picture(drawn(label="cost in $ of $x^2", points=5000, scale="log"), "a", "a")
    assert "cost in $ of $x^2" in text and "mathdefault" not in text and text.count("<tspan") > 3


def test_letters_that_the_font_lacks_are_left_to_the_browser():
    assert "漢字 🙂" in picture(drawn(label="漢字 🙂"), "a", "a")
