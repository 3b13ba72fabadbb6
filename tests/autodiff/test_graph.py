"""The graph of a computation: nodes, values, adjoints and direct derivatives, as data, as text and as a picture."""

import numpy as np
import pytest
import torch

import ftheta.autodiff as ad
from ftheta.autodiff import Graph, graph, variable
from ftheta.errors import InputError


def five():
    """v5 = θ1 v1 v2 + v3 at v = (2, 3, 5), θ1 = 0.7."""
    x1, x2, x3, theta = (variable(v, name) for v, name in [(2.0, "x1"), (3.0, "x2"), (5.0, "x3"), (0.7, "θ1")])
    return graph(theta * x1 * x2 + x3)


def network(w1, b1, w2, b2):
    """2-3-1 with a squared loss."""
    return ad.mean(ad.square(ad.linear(ad.tanh(ad.linear(np.array([1.0, 2.0]), w1, b1)), w2, b2) - np.array([1.5])))


@pytest.fixture
def parameters():
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in ((3, 2), (3,), (1, 3), (1,))]


def test_nodes_stand_in_the_order_of_the_computation_with_their_numbers():
    g = five()
    assert g.names == ("x1", "x2", "x3", "θ1", "v5", "v6", "v7")
    assert g.steps == ("", "", "", "", "θ1 · x1", "v5 · x2", "v6 + x3")
    assert g.parents == ((), (), (), (), (3, 0), (4, 1), (5, 2))
    np.testing.assert_allclose(g.values, [2, 3, 5, 0.7, 1.4, 4.2, 9.2])
    np.testing.assert_allclose(g.adjoints, [2.1, 1.4, 1, 6, 3, 1, 1])
    np.testing.assert_allclose(sum(g.partials, ()), [2, 0.7, 3, 1.4, 1, 1])


def test_an_adjoint_is_the_sum_of_the_parts_that_children_send(parameters):
    g = graph(network, *parameters)
    total = [np.zeros_like(v) for v in g.values]
    for i, above in enumerate(g.parents):
        for parent, direct in zip(above, g.partials[i], strict=True):
            assert direct.shape == g.values[i].shape + g.values[parent].shape
            total[parent] = total[parent] + np.tensordot(g.adjoints[i], direct, g.adjoints[i].ndim)
    for got, want in zip(total[:-1], g.adjoints[:-1], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_the_adjoints_of_a_network_are_those_of_torch(parameters):
    g = graph(network, *parameters)
    leaves = [torch.tensor(p, requires_grad=True) for p in parameters]
    h = torch.tanh(leaves[0] @ torch.tensor([1.0, 2.0], dtype=torch.float64) + leaves[1])
    loss = (leaves[2] @ h + leaves[3] - 1.5).square().mean()
    assert g.values[-1] == pytest.approx(loss.item())
    for name, want in zip(["w1", "b1", "w2", "b2"], torch.autograd.grad(loss, leaves), strict=True):
        np.testing.assert_allclose(g.adjoints[g.names.index(name)], want.numpy(), rtol=1e-12)


def test_an_argument_used_twice_is_one_parent_with_both_parts():
    g = graph(lambda x: x * x, 3.0)
    assert g.parents == ((), (0,)) and g.steps[1] == "x · x"
    assert (g.partials[1][0], g.adjoints[0]) == (6, 6)


def test_what_the_end_does_not_depend_on_is_left_out():
    x, y = variable(2.0, "x"), variable(3.0, "y")
    ad.exp(y)
    assert graph(x * 2.0).names == ("x", "v2")
    assert graph(lambda x, y: x * 2.0, 1.0, 5.0).names == ("x", "v2")


def test_constants_are_written_as_numbers_or_shapes():
    rows = np.ones((4, 2))
    g = graph(lambda w: ad.sum(ad.tanh(rows @ w) / np.float64(8)), np.ones(2))
    assert g.steps == ("", "4×2 @ w", "tanh(v2)", "v3 / 8", "sum(v4)")
    assert graph(lambda x: x[np.array([0, 1])].sum(), np.ones(3)).steps[1] == "getitem(x, (0, 1))"


def test_a_seed_makes_the_graph_of_an_array():
    g = graph(lambda x: x * x, np.array([1.0, 2.0]), seed=np.array([1.0, 10.0]))
    np.testing.assert_array_equal(g.adjoints[0], [2, 40])
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        graph(lambda x: x * x, np.array([1.0, 2.0]))


def test_a_direct_derivative_that_is_too_large_is_left_out():
    g = graph(lambda x: ad.sum(ad.exp(x)), np.zeros(101))
    assert g.partials[1][0] is None and g.partials[2][0].shape == (101,)
    assert "∂v2/∂x = large" in g.text()


def test_the_text_has_a_numbered_line_for_each_node():
    assert five().text().splitlines() == [
        "1  x1            value 2    adjoint 2.1",
        "2  x2            value 3    adjoint 1.4",
        "3  x3            value 5    adjoint 1",
        "4  θ1            value 0.7  adjoint 6",
        "5  v5 = θ1 · x1  value 1.4  adjoint 3    ∂v5/∂θ1 = 2, ∂v5/∂x1 = 0.7",
        "6  v6 = v5 · x2  value 4.2  adjoint 1    ∂v6/∂v5 = 3, ∂v6/∂x2 = 1.4",
        "7  v7 = v6 + x3  value 9.2  adjoint 1    ∂v7/∂v6 = 1, ∂v7/∂x3 = 1",
    ]


@pytest.mark.ledger("C108", covers="ftheta.autodiff.Graph")
def test_the_picture_of_a_network_shows_values_forwards_and_gradients_backwards(parameters):
    """Boxes hold both, with arrows to the right and to the left."""
    for made in (five(), graph(network, *parameters)):
        texts = [t.get_text() for t in made.figure().axes[0].texts if t.get_text()]
        for name, v, a in zip(made.names, made.values, made.adjoints, strict=True):
            if np.ndim(v) == 0:
                assert any(t.startswith(name) and f"{v:.4g} →" in t and f"← {a:.4g}" in t for t in texts)
        arrows = sum(map(len, made.parents))
        assert sum(hasattr(t, "xyann") for t in made.figure().axes[0].texts) == arrows


def test_all_arguments_get_the_names_of_the_parameters():
    assert graph(lambda *p: p[0] * p[1], 2.0, 3.0).names[:2] == ("p1", "p2")
    assert graph(lambda a, /, b=1.0, *c: a * b * c[0], 2.0, 3.0, 4.0).names[:3] == ("a", "b", "c1")
    assert isinstance(graph(lambda x: np.tanh(x), 0.5), Graph)
