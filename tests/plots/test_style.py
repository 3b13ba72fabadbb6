"""One style while a figure is drawn, and nowhere else."""

import matplotlib as mpl

from ftheta.plots import PALETTE, canvas, drawn, legend


@drawn
def lines(n):
    figure, axes = canvas(n)
    for k in range(9):
        axes[0].plot([0, 1], [k, k], label=f"line {k}")
        axes[-1].plot([0, 1], [k, k], label=f"line {k}")
    legend(figure)
    return figure


def test_the_style_is_set_while_drawing_and_restored_after_it():
    before = dict(mpl.rcParams)
    figure = lines(2)
    assert dict(mpl.rcParams) == before and figure.dpi == 120
    assert not figure.axes[0].spines["top"].get_visible()
    assert dict(mpl.rcParams) == before


def test_colors_repeat_with_other_dashes():
    drawn_lines = lines(2).axes[0].get_lines()
    assert [line.get_color() for line in drawn_lines[:7]] == list(PALETTE)
    assert drawn_lines[7].get_color() == PALETTE[0] and drawn_lines[7].get_linestyle() != drawn_lines[0].get_linestyle()


def test_a_legend_has_each_label_once():
    assert [text.get_text() for text in lines(2).legends[0].get_texts()] == [f"line {k}" for k in range(9)]


def test_a_canvas_has_the_axes_asked_for():
    figure, axes = canvas(5, across=3)
    assert len(axes) == len(figure.axes) == 5
    figure, axes = canvas()
    assert figure.axes == [axes]
