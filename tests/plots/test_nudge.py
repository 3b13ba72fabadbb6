"""The figure of a nudge: a bar and a dash a unit, the loss with its tangent."""

import numpy as np

from ftheta import plots


def test_bars_are_changes_dashes_first_orders_and_the_tangent_has_the_slope():
    at = np.linspace(-1, 1, 5)
    figure = plots.nudge({"a": [1.0, -2.0], "b": [0.5]}, [[0.9, -2.1], [0.4]], at, at**2 + at, 0.0, 1.0)
    first, second, loss = figure.axes
    assert [bar.get_height() for bar in first.patches] == [1.0, -2.0] and first.get_title() == "a"
    assert first.get_lines()[0].get_ydata().tolist() == [0.9, -2.1] and second.get_lines()[0].get_ydata().tolist() == [
        0.4
    ]
    assert loss.get_lines()[1].get_ydata().tolist() == at.tolist() and all(
        a.get_xlabel() and a.get_ylabel() for a in figure.axes
    )


def test_of_many_layers_and_units_some_are_drawn():
    layers = {str(k): np.ones(100) for k in range(12)}
    figure = plots.nudge(layers, list(layers.values()), np.arange(3.0), np.arange(3.0), 1.0, 1.0)
    assert len(figure.axes) == 6 and [a.get_title() for a in figure.axes[:5]] == ["0", "3", "6", "8", "11"]
    assert len(figure.axes[0].patches) == 40
