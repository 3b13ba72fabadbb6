"""Pieces of a page: long tables are cut and say so, figures are light and their names their own."""

import re

import numpy as np
import pytest
from markupsafe import Markup

from ftheta.data.kinds import histogram
from ftheta.jobs.pages import bars, slug
from ftheta.jobs.pages import figure_html as picture
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


def test_a_row_has_its_histogram_beside_it_and_its_table_a_title_for_them():
    """Bars from the bottom, the highest as high as the drawing; none where nothing was counted."""
    drawing = bars([2, 0, 4], "a 33 %, b & c")
    assert drawing.count("M") == 2 and 'd="M0 16v-8h18V16zM40 16v-16h18V16z"' in drawing
    assert 'role="img" aria-label="a 33 %, b &amp; c"' in drawing
    text = table(Table({"column": ["<x>", "y"]}), [drawing, Markup("")])
    assert text.count('<th scope="col">distribution</th></tr>') == 1 and text.count("<td></td></tr>") == 1
    assert f"&lt;x&gt;</td><td>{drawing}</td></tr>" in text


def test_histograms_count_numbers_in_bins_and_levels_by_how_frequent_they_are():
    counts, said = histogram(np.r_[np.arange(100.0), np.nan])
    assert counts == [5] * 20 and said == "0 to 99, median 49.5"
    assert histogram(np.arange(50.0), np.arange(100.0))[0] == [5] * 10 + [0] * 10  # in the bins of all rows
    assert histogram([1, 2, 2, 3]) == ([2, 1, 1], "2: 50 %, 1: 25 %, 3: 25 %")
    assert histogram(["b"], ["a", "a", "b"]) == ([0, 1], "a 0 %, b 100 %")
    counts, said = histogram(np.arange("2020-01-01", "2020-02-10", dtype="datetime64[D]"))
    assert sum(counts) == 40 and said == "2020-01-01 to 2020-02-09, median 2020-01-20"


def test_numbers_on_a_heat_map_keep_their_black_and_small_letters_grow():
    """Rules of style turn black to white on a dark page: not what stands on a color."""
    figure, axes = panel(4, 3, title="T", x="x", y="y")
    axes.imshow([[0, 1]])
    axes.text(0, 0, "on", size=5)
    axes.text(0.5, 1.05, "above", transform=axes.transAxes, size=5)
    text = picture(figure, "p", "Alt.")
    on, above = (re.search(rf'<text style="([^"]*)"[^>]*>{word}<', text)[1] for word in ("on", "above"))
    assert "fill: #000001" in on and "5px" in on and "fill" not in above and "9px" in above
    assert "--wide:384px;--letters:6.67" in text
