"""The straight line between two solutions: both ends are the models, and the barrier is what lies above the chord."""

import numpy as np
import torch
from torch import nn

from ftheta import ModuleClassifier
from ftheta.explain import line

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y, LABELS = X @ [1.0, -2.0, 0.5], (X[:, 0] * X[:, 1] > 0).astype(int)


def half_square(raw, y):
    return (raw[:, 0] - y) ** 2 / 2


def test_a_linear_model_has_a_parabola_on_every_line():
    a, b = nn.Linear(3, 1).double(), nn.Linear(3, 1).double()
    found = line(a, b, X, Y, loss=half_square, points=7)
    w = [torch.cat([p.flatten() for p in net.parameters()]).detach().numpy() for net in (a, b)]
    design = np.column_stack([X, np.ones(40)])
    truth = [((design @ (w[0] + t * (w[1] - w[0])) - Y) ** 2).mean() / 2 for t in found.t]
    np.testing.assert_allclose(found.loss, truth, rtol=1e-10)
    np.testing.assert_allclose(found.distance, np.linalg.norm(w[1] - w[0]))
    assert found.t.tolist() == [-0.25, 0, 0.25, 0.5, 0.75, 1, 1.25] and found.n == 40
    assert found.barrier == 0 and (found.excess[1:-1] <= 1e-15).all()  # convex: nothing is above the chord


def test_the_barrier_is_the_largest_excess_between_the_ends():
    """Two nets that differ by the order of their units: the same function, and the mean of both is another."""
    a = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    b = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    order = [5, 4, 3, 2, 1, 0]
    with torch.no_grad():
        b[0].weight.copy_(a[0].weight[order])
        b[0].bias.copy_(a[0].bias[order])
        b[2].weight.copy_(a[2].weight[:, order])
        b[2].bias.copy_(a[2].bias)
    y = a(torch.from_numpy(X)).detach()[:, 0]
    found = line(a, b, X, y, loss=half_square)
    np.testing.assert_allclose(found.ends, 0, atol=1e-20)
    middle = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    middle.load_state_dict({k: (v + b.state_dict()[k]) / 2 for k, v in a.state_dict().items()})
    truth = half_square(middle(torch.from_numpy(X)), y).mean().item()
    np.testing.assert_allclose(found.loss[found.t == 0.5], truth, rtol=1e-10)
    assert found.barrier >= truth > 1e-4 and 0 in found.t and 1 in found.t and len(found.t) == 43
    assert f"Barrier {found.barrier:#.4g} over a distance of" in found.table().caption
    drawn = {h.get_label(): h for h in found.figure().axes[0].lines}
    np.testing.assert_allclose(
        drawn[f"barrier {found.barrier:#.3g}"].get_ydata()[1], found.loss[(found.t >= 0) & (found.t <= 1)].max()
    )


def test_the_barrier_is_above_the_chord_and_not_above_the_lower_end():
    a, b = (nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1)).double() for _ in range(2))
    found = line(a, b, X, 10 * Y, loss=half_square)
    inside = (found.t >= 0) & (found.t <= 1)
    chord = np.interp(found.t[inside], [0, 1], found.ends)
    np.testing.assert_allclose(found.barrier, (found.loss[inside] - chord).max())


def test_both_ends_are_the_models_with_their_running_statistics():
    def net():
        return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))

    a, b = (ModuleClassifier(module=net(), epochs=e, random_state=s).fit(X, LABELS) for e, s in ((3, 0), (6, 1)))
    kept = [{k: v.clone() for k, v in m.module_.state_dict().items()} for m in (a, b)]
    found = line(a, b, X, LABELS, points=5)
    np.testing.assert_allclose(found.ends, [m.evaluate(X, LABELS)["loss"] for m in (a, b)], rtol=1e-5)
    for m, before in zip((a, b), kept, strict=True):
        assert all(torch.equal(v, before[k]) for k, v in m.module_.state_dict().items())
