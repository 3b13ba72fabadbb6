"""The engine: the chain rule both ways, what nests, what is refused, and what a node costs."""

import ast
import gc
import inspect
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from ftheta import autodiff as ad
from ftheta.autodiff import Tape, backward, grad, hessian, hvp, jacobian, jvp, partial, total, variable, vjp
from ftheta.errors import InputError, InputTypeError

RNG = np.random.default_rng(0)
X, A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=(4, 2))


def differences(f, x, h=1e-6):
    """The Jacobian by central differences: shape of f(x) + shape of x."""
    columns = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size).reshape(-1, *x.shape)]
    return np.stack(columns, -1).reshape(np.shape(f(x)) + x.shape)


def close(got, want, tolerance=1e-12):
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def loss():
    """L = θ₂ + x₃ + θ₁ x₁ x₂ and everything that it is made of."""
    x1, x2, x3, t1, t2 = (
        variable(v, n) for v, n in zip((2.0, 3.0, 5.0, 0.7, -1.0), "x₁ x₂ x₃ θ₁ θ₂".split(), strict=True)
    )
    v4 = t1 * x1 * x2
    return {"x1": x1, "x2": x2, "x3": x3, "t1": t1, "t2": t2, "v4": v4, "L": t2 + x3 + v4}


# --- the graph --------------------------------------------------------------------------------------------------------


@pytest.mark.ledger("A249", covers="ftheta.autodiff.Tape")
def test_nodes_parents_and_an_order_with_parents_first_are_recorded():
    at = loss()
    nodes = Tape(at["L"]).nodes
    made = [node.primitive.name if node.primitive else node.name for node in nodes]
    assert made == ["x₁", "x₂", "x₃", "θ₁", "θ₂", "multiply", "multiply", "add", "add"]
    assert nodes[-1] is at["L"] and nodes[-1].parents == [nodes[7], at["v4"]]
    assert all(nodes.index(p) < i for i, node in enumerate(nodes) for p in node.parents)
    assert [float(node.value) for node in nodes] == pytest.approx([2, 3, 5, 0.7, -1, 1.4, 4.2, 4, 8.2])
    assert repr(at["v4"]) == f"node #{at['v4'].number} = multiply(#{nodes[5].number}, #{at['x2'].number})"
    assert repr(at["t1"]) == f"node #{at['t1'].number} = variable θ₁"


@pytest.mark.ledger("A250", covers="ftheta.autodiff.partial")
def test_the_direct_derivative_is_zero_where_the_total_one_is_not():
    at = loss()
    assert float(at["L"].value) == pytest.approx(8.2)
    assert partial(at["L"], at["t1"]) == 0 and total(at["L"], at["t1"]) == pytest.approx(6)
    assert partial(at["L"], at["v4"]) == 1 == total(at["L"], at["t2"])
    assert partial(at["t1"], at["t2"]) == 0
    x = variable(X)
    y = ad.sin(x) @ B
    close(partial(y, y.args[0]), np.einsum("ik,ln->inkl", np.eye(3), B).transpose(0, 1, 2, 3))
    close(total(y, x), differences(lambda v: np.sin(v) @ B, X), 1e-8)
    s = variable(3.0)
    assert partial(s * s, s) == 6  # both places of one argument


@pytest.mark.ledger("A251", covers="ftheta.autodiff.backward")
def test_reverse_mode_begins_with_one_and_gives_all_gradients_in_one_sweep(monkeypatch):
    """dv_N/dv_N = 1, then Σ over the children for k = N - 1, ..., 1."""
    at, calls = loss(), []
    for p in (ad.add, ad.multiply):
        rule = p.vjp
        monkeypatch.setattr(p, "vjp", lambda *a, rule=rule, name=p.name: calls.append(name) or rule(*a))
    adjoints = backward(at["L"])
    assert calls == ["add", "add", "multiply", "multiply"]  # each once
    assert adjoints[at["L"]] == 1
    assert [float(adjoints[at[n]]) for n in ("t1", "t2")] == pytest.approx([6, 1])
    monkeypatch.undo()
    f = lambda w: (ad.tanh(A @ w) * ad.exp(-w.sum(axis=0)) @ B + (w @ B)[0]).mean()  # noqa: E731  w is used three times
    close(grad(f)(X), differences(lambda w: f(w), X), 1e-8)


@pytest.mark.ledger("A252", covers="ftheta.autodiff.backward")
def test_five_nodes_worked_out():
    at = loss()
    adjoints = backward(at["L"])
    found = [float(adjoints[at[n]]) for n in ("v4", "x3", "x2", "x1", "t1", "t2")]
    assert found == pytest.approx([1, 1, 1.4, 2.1, 6, 1])


@pytest.mark.ledger("C120", covers="ftheta.autodiff.backward")
def test_a_shared_expression_is_walked_once_and_its_paths_add_up():
    assert grad(lambda x: x * x + x)(3.0) == 7
    calls = []

    def seen(x):
        x = ad.exp(x)
        calls.append(x)
        return x

    def diamond(x):
        top = seen(x)
        return ad.sin(top) * ad.cos(top)

    close(grad(diamond)(0.3), np.cos(2 * np.exp(0.3)) * np.exp(0.3))
    deep = grad(lambda x: [x := x + x for _ in range(60)][-1])  # 2⁶⁰ paths
    assert len(calls) == 1 and deep(1.0) == 2.0**60


@pytest.mark.ledger("B188", covers="ftheta.autodiff.grad")
def test_any_expression_is_differentiated_as_back_propagation_does():
    """δ₂ = (y - t) y(1 - y), δ₁ = W₂ᵀ δ₂ h(1 - h), dW = δ xᵀ; 3-2-1 with sigmoids, and E = ½ (y - t)²."""
    x, t, w1, w2 = RNG.normal(size=3), 0.3, RNG.normal(size=(2, 3)), RNG.normal(size=(1, 2))

    def error(w1, w2):
        return 0.5 * ad.square(ad.sigmoid(w2 @ ad.sigmoid(w1 @ x)) - t).sum()

    h = 1 / (1 + np.exp(-w1 @ x))
    y = 1 / (1 + np.exp(-w2 @ h))
    d2 = (y - t) * y * (1 - y)
    d1 = (w2.T @ d2) * h * (1 - h)
    g1, g2 = grad(error, (0, 1))(w1, w2)
    close(g2, np.outer(d2, h))
    close(g1, np.outer(d1, x))
    close(g1, differences(lambda w: error(w, w2), w1), 1e-8)
    odd = lambda a: ad.log(a**3 + 2 / a) / (1 - 4 ** (-a)) - abs(-a) + 3 - a * 2.0  # noqa: E731
    close(grad(odd)(1.7), differences(lambda a: odd(a), np.array(1.7)), 1e-8)


# --- functions of functions -------------------------------------------------------------------------------------------


@pytest.mark.ledger("C111", covers="ftheta.autodiff.jacobian")
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobians_in_either_mode(mode):
    z = RNG.normal(size=5)
    p = np.exp(z) / np.exp(z).sum()
    close(jacobian(ad.softmax, z, mode), np.diag(p) - np.outer(p, p))
    found = jacobian(lambda x: ad.sin(A @ x @ B), X, mode)
    assert found.shape == (5, 2, 3, 4)
    close(found, differences(lambda x: np.sin(A @ x @ B), X), 1e-8)
    both = jacobian(lambda x, y: x @ y, (X, B), mode)
    assert [j.shape for j in both] == [(3, 2, 3, 4), (3, 2, 4, 2)]
    close(both[1], differences(lambda y: X @ y, B), 1e-8)
    assert jacobian(lambda x: x * 2.0, 3.0, mode) == 2
    assert jacobian(lambda x: ad.exp(x), np.empty((0, 2)), mode).shape == (0, 2, 0, 2)
    assert jacobian(lambda x: np.ones(2), X, mode).tolist() == np.zeros((2, 3, 4)).tolist()


@pytest.mark.ledger("C112", covers="ftheta.autodiff.jacobian")
def test_the_jacobian_of_a_composition_is_the_product():
    h, g = lambda x: ad.tanh(A @ x), lambda u: ad.exp(u)[1:] * u[:-1]  # noqa: E731
    x = RNG.normal(size=3)
    close(jacobian(lambda x: g(h(x)), x), jacobian(g, h(x)) @ jacobian(h, x), 1e-12)
    k, y = lambda y: ad.sin(B @ y), RNG.normal(size=2)  # noqa: E731
    g2 = lambda u, v: ad.concatenate(u, v) * u[0] * v[1]  # noqa: E731
    whole = jacobian(lambda x, y: g2(h(x), k(y)), (x, y))
    parts = jacobian(g2, (h(x), k(y)))
    close(whole[0], parts[0] @ jacobian(h, x), 1e-12)
    close(whole[1], parts[1] @ jacobian(k, y), 1e-12)


@pytest.mark.ledger("C113", covers="ftheta.autodiff.vjp")
def test_a_vector_times_the_jacobian_never_forms_it():
    import tracemalloc

    z, v = RNG.normal(size=5), RNG.normal(size=5)
    y, pull = vjp(ad.softmax, z)
    np.testing.assert_allclose(pull(v), y * (v - v @ y), rtol=0, atol=1e-16)
    close(pull(v), v @ jacobian(ad.softmax, z))
    many = RNG.normal(size=20_000)  # its Jacobian would have 3.2 GB
    tracemalloc.start()
    vjp(ad.softmax, many)[1](many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * many.nbytes
    a, b = vjp(lambda a, b: a @ b, X, B)[1](np.ones((3, 2)))
    close(a, np.ones((3, 2)) @ B.T)
    close(b, X.T @ np.ones((3, 2)))


@pytest.mark.ledger("C114", covers="ftheta.autodiff.jvp")
def test_forward_mode_carries_value_and_tangent_in_one_pass():
    passes = []

    def f(x):
        passes.append(type(x))
        return (ad.sin(x) * x).sum()

    x, v = RNG.normal(size=7), RNG.normal(size=7)
    y, dy = jvp(f, x, v)
    assert passes == [ad.Dual]
    close(y, (np.sin(x) * x).sum())
    close(dy, v @ (np.cos(x) * x + np.sin(x)))
    passes.clear()
    close(jacobian(f, x, "forward"), np.cos(x) * x + np.sin(x))
    assert len(passes) == 7
    y, dy = jvp(lambda a, b: (a * b, ad.exp(b), 5.0), (2.0, 3.0), (1.0, 0.5))
    assert [*map(float, y)] == pytest.approx([6, np.exp(3), 5])
    assert [*map(float, dy)] == pytest.approx([4, np.exp(3) / 2, 0])


def test_second_derivatives_both_over_both():
    f, x, v = (lambda x: (ad.exp(x) * ad.sin(x * x)).sum()), RNG.normal(size=4), RNG.normal(size=4)
    t = torch.tensor(x)
    want = torch.autograd.functional.hessian(lambda x: (x.exp() * (x * x).sin()).sum(), t).numpy()
    close(hessian(f, x), want)
    close(hvp(f, x, v), want @ v)
    close(jacobian(grad(f), x, "reverse"), want)
    close(jacobian(lambda x: jacobian(f, x, "forward"), x, "forward"), want)
    close(jacobian(lambda x: jacobian(f, x, "forward"), x, "reverse"), want)  # reverse over forward
    close(grad(grad(grad(ad.sin)))(0.4), -np.cos(0.4))
    ((aa, ab), (ba, bb)) = hessian(lambda a, b: a * a * b, (2.0, 3.0))
    assert (aa, ab, ba, bb) == (6, 4, 4, 0)
    assert hvp(lambda a, b: a * a * b, (2.0, 3.0), (1.0, 1.0)) == (10, 4)


def test_inner_and_outer_derivatives_are_not_confused():
    """d/dx [x · d/dy (x y)] = 2x, where a tangent of the outer derivative must not count in the inner one."""
    for outer in (grad, lambda f: lambda x: jvp(f, x, 1.0)[1]):
        for inner in (grad, lambda f: lambda y: jvp(f, y, 1.0)[1]):
            assert outer(lambda x, inner=inner: x * inner(lambda y: x * y)(1.0))(3.0) == 6
            assert outer(lambda x, inner=inner: x * inner(lambda y: x + y)(1.0))(3.0) == 1


def test_a_node_that_outlived_its_derivative_is_a_constant():
    kept = []
    grad(lambda x: kept.append(x * x) or x * 1.0)(3.0)
    assert grad(lambda y: y * kept[0])(2.0) == 9
    inner = []
    assert grad(lambda x: [grad(lambda y: inner.append(y * x) or y * 1.0)(5.0), inner[0]][1])(3.0) == 5


def test_gradients_come_for_the_arguments_that_are_asked_for():
    f = lambda a, b, c: a * b**2 + c  # noqa: E731
    assert ad.value_and_grad(f, 1)(2.0, 3.0, 1) == (19, 12)
    assert grad(f, (1, 0))(2.0, 3.0, 1) == (12, 9)
    assert grad(f, (0,))(2.0, 3.0, 1) == (9,)
    assert grad(lambda x: 4.0)(2.0) == 0
    assert grad(lambda x, y: y.sum())(X, B).tolist() == np.zeros((3, 4)).tolist()


def test_gradients_are_arrays_of_their_own():
    """The adjoint of a sum is one array for both operands, and a number seen along all axes."""
    a, b = grad(lambda x, y: (x + y).sum(), (0, 1))(X, X)
    a *= 2
    assert (a == 2).all() and (b == 1).all()


def test_nodes_behave_like_arrays():
    x = variable(X)
    assert (x.shape, x.ndim, x.size, len(x), x.dtype) == ((3, 4), 2, 12, 3, np.float64)
    first, *_ = x
    close(first.value, X[0])
    close(x.T.value, X.T)
    close(x.reshape(4, 3).value, X.reshape(4, 3))
    close(x.reshape((2, -1)).swapaxes(0, 1).value, X.reshape(2, -1).T)
    assert ((x > 0) == (X > 0)).all() and ((x <= 0) == (X <= 0)).all() and (x == X).all() and not (x != X).any()
    assert ((0 > x) == (X < 0)).all() and (x >= X).all() and not (x < x).any()
    assert bool(x.max() > x.min()) and not (variable(0.0))
    close((X @ variable(B)).value, X @ B)
    close((X.T @ x).value, X.T @ X)
    close((1 - x).value, 1 - X)
    close((np.float64(2) * x / X + 2**x).value, 2 + 2**X)
    close(x.mean(axis=1, keepdims=True).value, X.mean(1, keepdims=True))


def test_programs_in_numpy_are_recorded():
    def program(x):
        return np.sum(np.where(x > 0, np.exp(x), np.absolute(x)) * np.concatenate([x, x]).reshape(2, 3, 4)[0], axis=0)[
            1
        ]

    close(grad(program)(X), differences(program, X), 1e-8)
    close(jacobian(lambda x: np.stack([np.max(x), np.mean(x)]), X)[1], np.full((3, 4), 1 / 12))


# --- what is refused --------------------------------------------------------------------------------------------------


def told(error, match, f, *args, **kwargs):
    with pytest.raises(error, match=match):
        f(*args, **kwargs)


def test_outputs_and_seeds_that_do_not_fit_get_a_sentence():
    told(InputError, r"The output has shape \(3, 4\), and a gradient is that of a scalar; sum it", grad(ad.exp), X)
    told(InputError, r"The output has shape \(3, 4\)", backward, variable(X) * 2.0)
    told(InputError, r"The output has shape \(2,\)", grad(lambda x: np.ones(2)), X)
    told(InputError, r"direction of shape \(4,\) was given; give finite numbers of \(3, 4\)", jvp, ad.exp, X, X[0])
    told(InputError, r"give finite numbers of \(3, 4\)", backward, variable(X) * 2.0, X * np.nan)
    told(InputTypeError, r"The function gave tuple; it has to give one array, as by stack", grad(lambda x: (x, x)), 1.0)
    told(InputTypeError, r"The function gave NoneType", jvp, lambda x: None, 1.0, 1.0)
    told(InputError, r"argnum is 1, but f was given 1 arguments; count them from 0", grad(ad.exp, 1), 1.0)
    told(InputError, r"2 arguments and 1 directions were given", jvp, ad.multiply, (1.0, 2.0), 1.0)
    told(InputError, r"mode is 'both'; it is 'reverse', a sweep an output, or 'forward'", jacobian, ad.exp, X, "both")
    close(backward(ad.exp(x := variable(X)), seed=X)[x], np.exp(X) * X)


def test_what_numpy_would_do_unrecorded_gets_a_sentence():
    x = variable(X)
    told(InputTypeError, r"np\.median has no derivative rule; there is one for abs, add", np.median, x)
    told(InputTypeError, r"np\.arctan has no derivative rule", np.arctan, x)
    told(InputTypeError, r"np\.add\.reduce writes or reduces, which is not recorded", np.add.reduce, x)
    with pytest.raises(InputTypeError, match=r"np\.add\.__call__ writes"):
        total = np.zeros((3, 4))
        total += x
    with pytest.raises(InputTypeError, match=r"x\[0\] = \.\.\. would change a recorded value; make a new one"):
        x[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        (x * 2.0).value[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x.value[0] = 1.0


def test_a_graph_can_be_used_twice_and_gives_the_same():
    at = loss()
    first, second = backward(at["L"]), backward(at["L"])
    assert first[at["t1"]] == second[at["t1"]] == 6
    assert backward(at["L"] * 2.0)[at["t1"]] == 12
    _, pull = vjp(ad.exp, X)
    close(pull(X), np.exp(X) * X)
    close(pull(2 * X), 2 * np.exp(X) * X)


@pytest.mark.parametrize(
    ("f", "x", "place", "slope"),
    [
        (ad.relu, [1.0, 0.0], r"\(1,\)", [1, 0]),
        (ad.abs, [0.0, -2.0], r"\(0,\)", [0, -1]),
        (lambda x: ad.maximum(x, 2.0), [3.0, 2.0], r"\(1,\)", [1, 0.5]),
        (lambda x: ad.minimum(x, 2.0), [3.0, 2.0], r"\(1,\)", [0, 0.5]),
        (ad.max, [3.0, 1.0, 3.0], r"\(0,\)", [0.5, 0, 0.5]),
        (lambda x: ad.clip(x, -1.0, 1.0), [0.5, 1.0], r"\(1,\)", [1, 1]),
        (ad.leaky_relu, [0.0, 1.0], r"\(0,\)", [0.01, 1]),
        (lambda x: ad.elu(x, 2.0), [0.0, 1.0], r"\(0,\)", [2, 1]),
    ],
)
def test_kinks_take_a_stated_slope_and_are_refused_if_strict(f, x, place, slope):
    x = np.array(x)
    close(grad(lambda x: f(x).sum())(x), slope)
    sentence = rf"node #\d+ = \w+\(#\d+.* has a kink, so no derivative, at place {place} of its input; move the input"
    told(InputError, sentence, grad(lambda x: f(x).sum(), strict=True), x)
    told(InputError, sentence, backward, f(variable(x)).sum(), strict=True)
    close(
        grad(lambda x: f(x).sum(), strict=True)(x + 0.123 * np.arange(1, 1 + len(x))),
        grad(lambda x: f(x).sum())(x + 0.123 * np.arange(1, 1 + len(x))),
    )


def test_what_is_not_finite_gets_a_sentence_that_says_where():
    zero = np.array([1.0, 0.0])
    told(
        InputError,
        r"The value to differentiate is not finite, and so in node #\d+ = log\(#\d+\); move away",
        grad(lambda x: (ad.log(x) * 2.0).sum()),
        zero,
    )
    told(InputError, r"not finite, and so in node #\d+ = variable;", grad(lambda x: (x * 2.0).sum()), zero * np.nan)
    told(InputError, r"The value to differentiate is not finite; move", grad(lambda x: np.inf), 1.0)
    told(
        InputError,
        r"The derivative of node #\d+ = sqrt\(#\d+\) is not finite; move away",
        grad(lambda x: ad.sqrt(x).sum()),
        zero,
    )
    told(InputError, r"The tangent is not finite: the function has no derivative here", jvp, ad.sqrt, zero, zero + 1)
    told(InputError, r"= power\(#\d+, ·\) is not finite", lambda: backward(variable(0.0) ** 0.5))
    big = np.full(3, 1e308)  # its sum overflows, and no entry does
    close(grad(lambda x: (x * big).sum())(np.full(3, 0.1)), big)
    close(jvp(lambda x: x * big, np.full(3, 0.1), np.ones(3))[1], big)


# --- what a reader sees ---------------------------------------------------------------------------------------------


def code(node):
    """Lines from the first decorator to the end, without the docstring."""
    words = ast.get_docstring(node, clean=False)
    first = min(part.lineno for part in (node, *node.decorator_list))
    return node.end_lineno - first + 1 - (0 if words is None else words.count("\n") + 1)


def test_engine_and_primitives_are_two_files_to_be_read_in_one_sitting():
    engine, rules = (Path(inspect.getfile(part)).read_text("utf-8") for part in (ad.engine, ad.primitives))
    assert len(engine.splitlines()) <= 250 and len(rules.splitlines()) <= 400
    made = [n for n in ast.parse(rules).body if isinstance(n, ast.FunctionDef) and n.name in ad.PRIMITIVES]
    assert len(made) > 20 and max(map(code, made)) <= 6
    reverse = [n for n in ast.parse(engine).body if getattr(n, "name", "") == "_reverse"]
    assert len(reverse) == 1 and code(reverse[0]) <= 25


# --- what a node costs ------------------------------------------------------------------------------------------------


def chain(n):
    """v <- 0.999 v + x, n / 2 times: the slope less the right one."""
    x = v = variable(1e-3)
    for _ in range(n // 2):
        v = v * 0.999 + x
    slope, left = backward(v)[x], 0.999 ** (n // 2)
    return slope - (1000 * (1 - left) + left)


def test_long_chains_neither_recurse_nor_stay():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        wrong = chain(20_000)
    finally:
        sys.setrecursionlimit(limit)
    assert abs(wrong) < 1e-9
    gc.disable()
    try:
        x = variable(X)
        y = ad.exp(x)
        gone = weakref.ref(y.value.base)
        z = backward((y * y).sum())[x]
        del y
        assert gone() is None and z.shape == (3, 4)  # without the collector of cycles
    finally:
        gc.enable()


@pytest.mark.middle
@pytest.mark.slow
def test_a_million_nodes_are_recorded_walked_back_and_freed():
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert abs(chain(1_000_000)) < 1e-9
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 900_000  # kB


# --- a network trained by it alone ------------------------------------------------------------------------------------


@pytest.mark.ledger("A267", covers="ftheta.autodiff.grad")
def test_a_network_trained_by_it_and_by_four_formulas_ends_where_torch_ends():
    x, y, rate, steps = RNG.normal(size=(20, 3)), RNG.normal(size=(20, 2)), 0.1, 40
    start = [RNG.normal(size=s) for s in ((5, 3), (5,), (2, 5), (2,))]

    def error(w1, b1, w2, b2):
        return ad.mean((ad.linear(ad.tanh(ad.linear(x, w1, b1)), w2, b2) - y) ** 2)

    def by_hand(w1, b1, w2, b2):
        a = np.tanh(x @ w1.T + b1)
        d2 = 2 * (a @ w2.T + b2 - y) / y.size  # δ of the output, then of the hidden layer
        d1 = (1 - a**2) * (d2 @ w2)
        return [d1.T @ x, d1.sum(0), d2.T @ a, d2.sum(0)]

    ours, hand, losses = start, start, []
    theirs = [torch.tensor(p, requires_grad=True) for p in start]
    sgd = torch.optim.SGD(theirs, lr=rate)
    for _ in range(steps):
        value, found = ad.value_and_grad(error, (0, 1, 2, 3))(*ours)
        losses.append(value)
        ours = [p - rate * g for p, g in zip(ours, found, strict=True)]
        hand = [p - rate * g for p, g in zip(hand, by_hand(*hand), strict=True)]
        sgd.zero_grad()
        hidden = torch.tanh(torch.nn.functional.linear(torch.tensor(x), *theirs[:2]))
        torch.nn.functional.mse_loss(torch.nn.functional.linear(hidden, *theirs[2:]), torch.tensor(y)).backward()
        sgd.step()
    assert losses[-1] < 0.7 * losses[0] and (np.diff(losses) < 0).all()
    for mine, formulas, torchs in zip(ours, hand, theirs, strict=True):
        close(mine, torchs.detach().numpy(), 1e-10)
        close(mine, formulas, 1e-10)
