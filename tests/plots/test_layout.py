"""Texts of every shared figure lie inside it, and no two of them overlap, also where names are long and rows many."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta import plots
from ftheta.explain import Samples

RNG = np.random.default_rng(0)
LONG = "a very long name of a class that goes on"
MAPS, IMAGES = RNG.normal(size=(6, 8, 8)), RNG.random((6, 1, 8, 8))
ROWS = np.tile(MAPS.reshape(6, 64), (12, 1))
FIGURES = {
    "confusion, 3": lambda: plots.confusion(np.full((3, 3), 7), ["a", LONG, "c"]),
    "confusion, 40": lambda: plots.confusion(np.eye(40, dtype=int), [f"class {k}" for k in range(40)]),
    "curves": lambda: plots.curves({LONG: [1.0, 2.0], "generator": [2.0, 1.0], "critic": [1.0, 1.0]}, best=1),
    "layers": lambda: plots.layers(
        [f"blocks.{i}.attention.projection.weight" for i in range(30)], range(30), label="x"
    ),
    "layers, small": lambda: plots.layers(["a", "b"], [1.234e-5, 1.235e-5], label="x", notes=["dead", "saturated"]),
    "network": lambda: plots.network([784, 100, 64, 10], labels=["Ω: 3 × 4\nβ: 4"] * 3),
    "network, thin": lambda: plots.network([3, 4, 2, 3, 2], dropped=[np.arange(n) % 2 == 0 for n in (4, 2, 3)]),
    "panels": lambda: plots.panels({"one": {f"{LONG} {i}": ([1, 2], [1, 2]) for i in range(6)}}, x="epoch", label="y"),
    "patches": lambda: plots.patches({f"What excites units of {LONG}": IMAGES[None]}, [[LONG]], y="first of the line"),
    "saliency, 1": lambda: plots.saliency(IMAGES[:1], MAPS[:1], [f"for {LONG}"], label="saliency (integrated)"),
    "saliency, 6": lambda: plots.saliency(IMAGES, MAPS, [f"for {LONG}"] * 6),
    "sampled": lambda: Samples(ROWS, (8, 8), None, None, ROWS, np.array([1.0, 2.0]), np.ones(1)).figure(),
    "segmented": lambda: plots.segmented(IMAGES, 1 * (MAPS > 0), 1 * (MAPS > 1), ["ground", LONG]),
    "segmented, wide": lambda: plots.segmented(RNG.random((1, 8, 64)), None, np.zeros((1, 8, 64), int), ["a"]),
    "whiskers": lambda: plots.whiskers(
        {"share": [(LONG, 0.5, 0.1, 0.9), ("b", 0.3, None, None)], "u": [("c", 1, 0, 2)]}
    ),
}


SLOW = ("confusion, 40", "sampled", "saliency, 6", "segmented", "segmented, wide")
EACH = [pytest.param(name, marks=pytest.mark.middle if name in SLOW else ()) for name in FIGURES]


@pytest.mark.parametrize("name", EACH)
def test_texts_lie_inside_the_figure_and_do_not_overlap(name):
    figure = FIGURES[name]()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [t for axes in figure.axes for t in (axes.title, axes.xaxis.label, axes.yaxis.label)]
    texts += [t for legend in figure.legends for t in legend.get_texts()]
    texts += [t for axes in figure.axes for t in axes.get_yticklabels() if axes.axison and len(t.get_text()) > 3]
    boxes = [t.get_window_extent(canvas.get_renderer()) for t in texts if t.get_text() and t.get_visible()]
    assert [b for b in boxes if b.x0 < -1 or b.y0 < -1 or b.x1 > figure.bbox.x1 + 1 or b.y1 > figure.bbox.y1 + 1] == []
    assert [(i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.overlaps(b)] == []
