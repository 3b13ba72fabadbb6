"""Updates: gradients, updates and their ratio, one row a parameter."""

import numpy as np

from ftheta.plots import updates

G = np.arange(1.0, 11.0).reshape(2, 5)


def test_rows_are_parameters_and_columns_are_gradient_update_and_rate():
    figure = updates(G[:, :2], {"gd": -G[:, :2], "adam": G[:, :2] + 1}, {"gd": G[:, :2], "adam": G[:, :2] * 1e6})
    axes = np.array(figure.axes).reshape(2, 3)
    assert axes[1, 0].lines[0].get_xydata().tolist() == [[1, 2], [2, 7]]
    assert axes[1, 1].lines[1].get_ydata().tolist() == [3, 8] and axes[1, 1].get_ylabel() == "update Δθ of θ₂"
    assert axes[1, 2].lines[0].get_ydata().tolist() == [2, 7] and axes[1, 2].get_yscale() == "log"
    assert axes[0, 0].get_xlabel() == "" and axes[1, 0].get_xlabel() == "step"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["gd", "adam"]
    assert len(axes[0, 1].lines) == 3  # and a line at zero, as some updates are negative


def test_four_parameters_are_drawn_of_many_and_one_needs_no_number():
    figure = updates(G, {"gd": -G}, {"gd": G})
    assert len(figure.axes) == 12 and "first 4 parameters" in figure.get_suptitle()
    assert updates(G[:, :1], {"gd": G[:, :1]}, {"gd": G[:, :1]}).axes[0].get_ylabel() == "gradient g"
