"""Mapping over rows, recomputing instead of storing, and the cost of both modes."""

import numpy as np
import pytest

from ftheta import autodiff as ad
from ftheta.autodiff import Tape, backward, checkpoint, cost, grad, hvp, jvp, variable, vmap

RNG = np.random.default_rng(0)


@pytest.mark.ledger("C010", covers="ftheta.autodiff.vmap")
def test_a_function_of_one_sample_maps_over_rows():
    X, Y, w = RNG.normal(size=(6, 3)), RNG.normal(size=6), RNG.normal(size=3)
    f = lambda x, y: ad.tanh(x @ w) ** 2 * y + x[0]  # noqa: E731
    assert vmap(f)(X, Y).tolist() == [f(x, y) for x, y in zip(X, Y, strict=True)]
    g = grad(lambda X: vmap(f)(X, Y).sum())(X)
    np.testing.assert_allclose(g, [grad(f)(x, y) for x, y in zip(X, Y, strict=True)], rtol=1e-14)
    np.testing.assert_allclose(vmap(grad(f))(X, Y), g, rtol=1e-14)  # gradients of each row
    shared = grad(lambda w: vmap(lambda x: ad.sin(x @ w))(X).mean())(w)
    np.testing.assert_allclose(shared, np.mean([np.cos(x @ w) * x for x in X], axis=0), rtol=1e-13)


# --- recomputing ------------------------------------------------------------------------------------------------------


def layers(h, *weights, block=1, through=lambda f: f):
    """h <- tanh(W h), some layers at a time."""
    for k in range(0, len(weights), block):
        h = through(_several_layers)(h, *weights[k : k + block])
    return h


def _several_layers(h, *weights):
    for w in weights:
        h = ad.tanh(w @ h)
    return h


WEIGHTS = tuple(RNG.normal(size=(16, 10, 10)) / 3)
H = RNG.normal(size=10)


def test_a_checkpoint_changes_no_derivative():
    plain = lambda h, *w: ad.square(layers(h, *w)).sum()  # noqa: E731
    saving = lambda h, *w: ad.square(layers(h, *w, block=4, through=checkpoint)).sum()  # noqa: E731
    places = tuple(range(17))
    for a, b in zip(grad(plain, places)(H, *WEIGHTS), grad(saving, places)(H, *WEIGHTS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    v = RNG.normal(size=10)
    fixed = lambda f: lambda h: f(h, *WEIGHTS)  # noqa: E731
    np.testing.assert_allclose(hvp(fixed(saving), H, v), hvp(fixed(plain), H, v), rtol=1e-11)
    for a, b in zip(jvp(fixed(saving), H, v), jvp(fixed(plain), H, v), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_checkpoint_stores_ends_of_blocks_and_computes_blocks_twice(monkeypatch):
    """16 layers of 10 units, 4 at a time: 4 · 10 numbers stored instead of 16 · 2 · 10, and each tanh twice."""
    calls = []
    value = ad.tanh.value
    monkeypatch.setattr(ad.tanh, "value", lambda x: calls.append(1) or value(x))
    weights = tuple(map(variable, WEIGHTS))
    for through, stored, called in ((lambda f: f, 320, 16), (checkpoint, 40, 32)):
        calls.clear()
        end = layers(variable(H), *weights, block=4, through=through)
        assert sum(node.size for node in Tape(end).nodes if node.primitive) == stored
        backward(end, np.ones(10))
        assert len(calls) == called


# --- cost -------------------------------------------------------------------------------------------------------------


def times(n):
    """tanh n times, and the sum."""

    def f(x):
        for _ in range(n):
            x = ad.tanh(x)
        return x.sum()

    return f


@pytest.mark.ledger(
    "C115",
    covers="ftheta.autodiff.cost",
    says="forward Θ(n), reverse Θ(m), each marked (memory)",
    printed=[1.0, 1.0],
    right=[1.0, 10.0],
)
def test_inputs_and_outputs_count_passes_and_operations_count_memory(ledger):
    """Printed: memory is Θ(n) and Θ(m), whatever the number of operations. Those are passes; reverse mode keeps all."""
    x = RNG.normal(size=1000)
    short, long = cost(times(10), x), cost(times(100), x)
    assert (long.inputs, long.outputs, long.operations) == (1000, 1, 101)
    assert long.table().columns["passes"] == [1000, 1]
    assert long.table().columns["numbers kept"] == [2 * 2000, 100_001]
    assert long.bytes == 8 * 100_001
    ledger([long.live / short.live, long.stored / short.stored], rtol=2e-3)
    other = cost(lambda s: ad.stack(*(ad.sin(s * k) for k in range(50))), 1.0)
    assert (other.inputs, other.outputs, other.table().columns["passes"]) == (1, 50, [1, 50])
    assert cost(lambda x: 3.0, 2.0).table().columns["numbers kept"] == [0, 0]


def test_what_is_still_to_be_used_is_kept_in_forward_mode():
    """a = sin x is used last, so it is alive beside b, c and then the product: 3 · 2 · 5 numbers at most."""

    def f(x):
        a = ad.sin(x)
        c = ad.exp(ad.exp(x))  # b goes
        return ad.exp(c) * a

    assert (cost(f, np.ones(5)).live, cost(f, np.ones(5)).stored) == (30, 25)


def test_what_an_operation_uses_twice_is_let_go_once():
    """exp x is gone after its square; square, tanh and sin are there together: 3 values of 4 entries, with tangents."""

    def f(x):
        e = ad.exp(x)
        square = e * e
        return ad.tanh(square) + ad.sin(square)

    assert cost(f, np.ones(4)).live == 2 * 3 * 4


@pytest.mark.ledger("C119", covers="ftheta.autodiff.cost")
def test_the_jacobian_of_a_layer_of_a_million_weights_has_a_thousand_million_entries():
    x, w = np.ones(1000, np.float32), np.zeros((1000, 1000), np.float32)
    found = cost(lambda w: ad.linear(x, w), w)
    assert (found.entries, found.stored, found.bytes) == (10**9, 1000, 4000)
    assert found.table().caption == "1 operations; the explicit Jacobian has 1000000000 entries."
    _, pull = ad.vjp(lambda w: ad.linear(x, w), w)
    assert pull(x).nbytes == 4_000_000  # of the weights themselves; the Jacobian would take 4 GB
