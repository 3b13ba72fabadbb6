"""A computation graph as boxes and arrows: what is written where, and that all of it can be read."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.patches import FancyBboxPatch

from ftheta.errors import InputError
from ftheta.plots.computation import computation

FIVE = {  # v4 = θ v1 v2, v5 = v4 + v3
    "names": ["v1", "v2", "v3", "θ", "v4", "v5"],
    "parents": [(), (), (), (), (3, 0, 1), (4, 2)],
    "values": [2.0, 3.0, 5.0, 0.7, 4.2, 9.2],
    "adjoints": [2.1, 1.4, 1.0, 6.0, 1.0, 1.0],
    "parts": [(), (), (), (), (6.0, 2.1, 1.4), (1.0, 1.0)],
}
BLUE, ORANGE = "#0072B2", "#D55E00"


def boxes(figure):
    """(left, right, top, bottom) of each box by the name in it; heights grow downwards."""
    axes = figure.axes[0]
    found = {}
    for patch in axes.patches:
        if isinstance(patch, FancyBboxPatch):
            x, y, w, h = patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()
            inside = [t for t in axes.texts if x < t.get_position()[0] < x + w and y < t.get_position()[1] < y + h]
            found[min(inside, key=lambda t: t.get_position()[1]).get_text()] = (x, x + w, y, y + h)
    return found


def words(figure, box):
    """Texts in a box from top to bottom, with their colours."""
    left, right, top, bottom = box
    inside = [
        (t.get_position()[1], t.get_text(), t.get_color())
        for t in figure.axes[0].texts
        if left < t.get_position()[0] < right and top < t.get_position()[1] < bottom
    ]
    return [(text, colour) for _, text, colour in sorted(inside)]


def random_graph(n, seed):
    rng = np.random.default_rng(seed)
    parents = [() if i < n // 4 + 1 else tuple(rng.choice(i, min(i, 2), replace=False)) for i in range(n)]
    numbers = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n)
    parts = [[-1.234e-5] * len(above) for above in parents]
    return {
        "names": [f"v{i} = multiply" for i in range(n)],
        "parents": parents,
        "values": numbers,
        "adjoints": -numbers,
        "parts": parts,
    }


def test_a_box_holds_name_value_and_adjoint():
    figure = computation(**FIVE)
    found = boxes(figure)
    assert set(found) == set(FIVE["names"])
    said = words(figure, found["v4"])
    assert [text for text, _ in said] == ["v4", "4.2 →", "← 1"]
    assert same_color(said[1][1], BLUE) and same_color(said[2][1], ORANGE)


def test_parents_stand_left_of_children_and_inputs_just_left_of_their_first_use():
    found = boxes(computation(**FIVE))
    for child, parents in zip(FIVE["names"], FIVE["parents"], strict=True):
        assert all(found[FIVE["names"][p]][1] < found[child][0] for p in parents)
    centre = {name: (left + right) / 2 for name, (left, right, *_) in found.items()}
    assert centre["v3"] == pytest.approx(centre["v4"])  # v3 is first used by v5
    assert centre["v1"] == centre["v2"] == centre["θ"] < centre["v3"]


def test_arrows_carry_values_forwards_and_gradients_backwards():
    texts = [(t.get_text(), t.get_color()) for t in computation(**FIVE).axes[0].texts]
    forward = sorted(text for text, colour in texts if same_color(colour, BLUE))
    backward = sorted(text for text, colour in texts if same_color(colour, ORANGE))
    sent = [FIVE["values"][p] for above in FIVE["parents"] for p in above]
    assert forward == sorted(["value →", *(f"{v:g} →" for v in (*FIVE["values"], *sent))])
    back = [part for parts in FIVE["parts"] for part in parts]
    assert backward == sorted(["← adjoint", *(f"← {a:g}" for a in (*FIVE["adjoints"], *back))])


def test_an_arrow_runs_from_the_right_of_its_parent_to_the_left_of_its_child():
    figure = computation(**FIVE)
    found = boxes(figure)
    ends = {tuple(np.round([*a.xyann, *a.xy], 6)) for a in figure.axes[0].texts if hasattr(a, "xyann")}
    for child, parents in zip(FIVE["names"], FIVE["parents"], strict=True):
        for parent in (FIVE["names"][p] for p in parents):
            (_, x0, t0, b0), (x1, _, t1, b1) = found[parent], found[child]
            assert tuple(np.round([x0, (t0 + b0) / 2, x1, (t1 + b1) / 2], 6)) in ends
    assert len(ends) == 5


def test_arrows_over_several_columns_go_around_the_boxes_between():
    """x feeds every node of a chain; its long arrows cross no box."""
    n = 6
    figure = computation(
        names=[f"v{i}" for i in range(n)],
        parents=[(), *((0,) if i == 1 else (0, i - 1) for i in range(1, n))],
        values=np.ones(n),
        adjoints=np.ones(n),
    )
    axes = figure.axes[0]
    legs = [np.column_stack([line.get_xdata(), line.get_ydata()]) for line in axes.lines]
    legs += [np.array([a.xyann, a.xy]) for a in axes.texts if hasattr(a, "xyann")]
    points = np.concatenate(
        [a + t * (b - a) for leg in legs for a, b in zip(leg, leg[1:], strict=False) for t in np.linspace(0, 1, 50)]
    ).reshape(-1, 2)
    for left, right, top, bottom in boxes(figure).values():
        x, y = points.T
        assert not ((left + 0.01 < x) & (x < right - 0.01) & (top < y) & (y < bottom)).any()


def test_arrays_are_shown_by_their_entries_or_by_shape_and_norm():
    values = [np.array([1.0, 2.0, 3.0]), np.array([[3.0, 0.0], [0.0, 4.0]])]
    figure = computation(names=["a", "b"], parents=[(), (0,)], values=values, adjoints=values)
    assert words(figure, boxes(figure)["a"])[1][0] == "(1, 2, 3) →"
    assert words(figure, boxes(figure)["b"])[2][0] == "← 2×2, norm 5"


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (6, 1), (12, 2), (14, 3), (40, 4)])
def test_no_two_texts_and_no_two_boxes_overlap(n, seed):
    figure = computation(**random_graph(n, seed))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes, renderer = figure.axes[0], canvas.get_renderer()
    texts = [t.get_window_extent(renderer) for t in (*axes.texts, axes.title) if t.get_text()]
    shapes = [p.get_window_extent(renderer) for p in axes.patches if isinstance(p, FancyBboxPatch)]
    for found in (texts, shapes):
        assert [(i, j) for i, a in enumerate(found) for j, b in enumerate(found[:i]) if a.overlaps(b)] == []
    inside = figure.bbox
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 for box in (*texts, *shapes))


def test_many_arrows_carry_no_numbers():
    few, many = (computation(**random_graph(n, 0)).axes[0].texts for n in (10, 40))
    small = [sum(t.get_fontsize() == 7 and t.get_text() != "" for t in texts) for texts in (few, many)]
    assert small[0] > 0 and small[1] == 0


@pytest.mark.parametrize("n", [0, 61])
def test_a_graph_that_cannot_be_read_is_refused(n):
    graph = random_graph(n, 0)
    with pytest.raises(InputError, match=rf"computation got {n} nodes, and 1 to 60 can be read in a picture"):
        computation(**graph)
