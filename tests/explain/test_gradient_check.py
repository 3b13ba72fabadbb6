"""The gradient check: planted mistakes are found and named, right nets pass, nothing is touched."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ftheta import MLPClassifier, MLPRegressor
from ftheta.errors import InputError
from ftheta.explain import gradient_check

RNG = np.random.default_rng(0)


class Spoiled(torch.autograd.Function):
    """Forward as given; backward as torch would do it, then changed by somebody's mistake."""

    @staticmethod
    def forward(ctx, f, spoil, *leaves):
        ctx.f, ctx.spoil = f, spoil
        ctx.save_for_backward(*leaves)
        return f(*leaves)

    @staticmethod
    def backward(ctx, g):
        leaves = [t.detach().requires_grad_() for t in ctx.saved_tensors]
        with torch.enable_grad():
            grads = torch.autograd.grad(ctx.f(*leaves), leaves, g)
        return None, None, *ctx.spoil(g, leaves, list(grads))


class Planted(nn.Module):
    def __init__(self, f, spoil, **shapes):
        super().__init__()
        self.f, self.spoil, self.names = f, spoil, list(shapes)
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(*shape, dtype=torch.float64) / 2))

    def forward(self, x):
        return Spoiled.apply(self.f, self.spoil, x, *(getattr(self, name) for name in self.names))


def changed(place, change):
    """A mistake in one of the gradients: 0 is the input, 1 and 2 are the parameters."""

    def spoil(g, leaves, grads):
        grads[place] = change(g, leaves, grads[place])
        return grads

    return spoil


def alone(f, place, row):
    """The gradient of one row only."""

    def change(g, leaves, grad):
        own = [t.detach().requires_grad_() for t in leaves]
        with torch.enable_grad():
            out = f(own[0][row : row + 1] if row >= 0 else own[0][row:], *own[1:])
        return torch.autograd.grad(out, own[place], g[row : row + 1] if row >= 0 else g[row:])[0]

    return change


def zeroed(t):
    t = t.clone()
    t[1] = 0
    return t


DENSE, SCALE, CONV = (lambda x, w, b: x @ w.T + b), (lambda x, w, b: x * w + b), (lambda x, w, b: F.conv2d(x, w, b))
NORM = lambda x: F.layer_norm(x, x.shape[1:])  # noqa: E731
SKIP = lambda x, w: x + torch.tanh(x @ w.T)  # noqa: E731
SHAPES = {
    "dense": (DENSE, {"w": (4, 4), "b": (4,)}),
    "flat": (DENSE, {"w": (2, 4), "b": (2,)}),
    "scale": (SCALE, {"w": (4,), "b": (4,)}),
    "conv": (CONV, {"w": (2, 2, 3, 3), "b": (2,)}),
    "sigmoid": (torch.sigmoid, {}),
    "identity": (lambda x: x * 1, {}),
    "norm": (NORM, {}),
    "skip": (SKIP, {"w": (4, 4)}),
}
MISTAKES = [  # layer, tensor that is wrong, the mistake, its kind, words of the sentence
    ("dense", 1, lambda g, t, d: -d, "sign", "opposite sign"),
    ("scale", 1, lambda g, t, d: -d, "sign", "opposite sign"),
    ("conv", 1, lambda g, t, d: -d, "sign", "opposite sign"),
    ("sigmoid", 0, lambda g, t, d: -d, "sign", "opposite sign"),
    ("dense", 2, lambda g, t, d: -3 * d, "sign", "3 times what it should be, with the opposite sign"),
    ("dense", 1, lambda g, t, d: 2 * d, "factor", "2 times"),
    ("conv", 2, lambda g, t, d: d / 2, "factor", "1/2 of"),
    ("scale", 1, lambda g, t, d: 0.7 * d, "factor", "0.7 times"),
    ("flat", 2, lambda g, t, d: g.mean(0), "factor", "1/5 of what it should be; 5 is the number of rows"),
    ("conv", 1, lambda g, t, d: d / 5, "factor", "5 is the number of rows"),
    ("scale", 0, lambda g, t, d: d * 5, "factor", "5 times what it should be; 5 is the number of rows"),
    ("dense", 1, lambda g, t, d: d / 20, "factor", "20 is the number of all outputs"),
    ("dense", 1, lambda g, t, d: d.T, "transpose", "axes (1, 0)"),
    ("flat", 1, lambda g, t, d: d.T.reshape(d.shape), "transpose", "axes (1, 0)"),
    ("conv", 1, lambda g, t, d: d.transpose(2, 3), "transpose", "axes (0, 1, 3, 2)"),
    ("conv", 1, lambda g, t, d: d.flip(2, 3), "transpose", "flipped"),
    ("dense", 0, lambda g, t, d: g @ t[1].T, "transpose", "wrong way round"),
    ("dense", 1, alone(DENSE, 1, 0), "missing sum", "first row alone"),
    ("flat", 2, alone(DENSE, 2, -1), "missing sum", "last row alone"),
    ("scale", 1, alone(SCALE, 1, 0), "missing sum", "first row alone"),
    ("conv", 1, alone(CONV, 1, -1), "missing sum", "last row alone"),
    (
        "dense",
        1,
        lambda g, t, d: zeroed(d),
        "missing term",
        "4 of 16 entries are wrong, where nothing arrives, all at axis 0 = 1",
    ),
    ("conv", 1, lambda g, t, d: None, "missing term", "no gradient arrives"),
    ("sigmoid", 0, lambda g, t, d: g, "missing term", "passed on as it came"),
    ("skip", 0, lambda g, t, d: d - g, "missing term", "add δ itself"),
    ("norm", 0, lambda g, t, d: d + g.mean(1, keepdim=True), "unclear", "without a pattern"),
    (
        "identity",
        0,
        lambda g, t, d: g * torch.sigmoid(t[0]) * (1 - torch.sigmoid(t[0])),
        "factor",
        "derivative of sigmoid",
    ),
    ("identity", 0, lambda g, t, d: g * (1 - t[0].tanh() ** 2), "factor", "derivative of tanh"),
    ("dense", 1, lambda g, t, d: d.sin() + 0.3, "unclear", "without a pattern"),
    ("dense", 1, lambda g, t, d: d * torch.nan, "not finite", "NaN or infinity"),
]


def rows_for(layer, seed, n=5):
    shape = (n, 2, 5, 5) if layer == "conv" else (n, 4)
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.middle) for s in (1, 2))])
@pytest.mark.parametrize("case", range(len(MISTAKES)))
def test_a_planted_mistake_is_found_and_named(case, seed):
    layer, place, change, kind, words = MISTAKES[case]
    torch.manual_seed(seed)
    f, shapes = SHAPES[layer]
    planted = Planted(f, changed(place, change), **shapes)
    name = ["input", *shapes][place]
    found = gradient_check(planted, rows_for(layer, seed))
    assert not found.passed and found.wrong == (name,) and found.worst > 1e-3
    here = found.names.index(name)
    assert found.kinds[here] == kind and words in found.sentences[here], (found.kinds, found.sentences)
    assert found.layer == "Planted" and kind in found.verdict and words in found.table().text()


@pytest.mark.parametrize(("case", "seed"), [(0, 2), (5, 3), (8, 4), (12, 5), (16, 6), (17, 7), (21, 8), (23, 9)])
def test_a_mistake_inside_a_net_is_traced_to_its_layer(case, seed):
    layer, place, change, kind, words = MISTAKES[case]
    torch.manual_seed(seed)
    f, shapes = SHAPES[layer]
    wide = 2 if layer == "flat" else 4
    parts = [nn.Linear(3, 4), nn.Tanh(), Planted(f, changed(place, change), **shapes), nn.Tanh(), nn.Linear(wide, 2)]
    found = gradient_check(nn.Sequential(*parts).double(), torch.randn(5, 3).double(), torch.randn(5, 2))
    assert found.layer == "2" and set(found.kinds) == {"", kind} and words in found.verdict
    upstream = ("0.weight", "0.bias", "input")
    assert found.wrong == (upstream if place == 0 else (f"2.{['', *shapes][place]}",))
    if place == 0:
        assert "the incoming gradient is already wrong; input 0 of layer '2'" in found.sentences[0]


def test_the_worst_entry_is_reported_with_what_was_expected_and_got():
    def spoil(g, leaves, grads):
        grads[1] = grads[1].clone()
        grads[1][2, 1] += 0.25
        return grads

    torch.manual_seed(0)
    layer, x = Planted(DENSE, spoil, w=(4, 4), b=(4,)), rows_for("dense", 0)
    y = torch.zeros(5, 4, dtype=torch.float64)
    found = gradient_check(layer, x, y)
    truth = ((x @ layer.w.T + layer.b).T @ x / 5)[2, 1].item()  # of the mean over rows of half the squared error
    line = found.table().columns
    assert line["worst entry"][0] == "[2, 1]" and line["entries"][0] == 16
    np.testing.assert_allclose(line["expected"][0], truth, rtol=1e-9)
    np.testing.assert_allclose(line["got"][0], truth + 0.25, rtol=1e-9)
    np.testing.assert_allclose(found.worst, 0.25 / max(abs(truth), abs(truth + 0.25)), rtol=1e-6)
    one_percent = Planted(DENSE, lambda g, leaves, grads: [grads[0], 1.01 * grads[1], grads[2]], w=(4, 4), b=(4,))
    assert [gradient_check(one_percent, x, y, tolerance=t).passed for t in (1e-3, 0.1)] == [False, True]
    assert found.kinds[0] == "missing term"
    assert "1 of 16 entries are wrong, all at axis 0 = 2, axis 1 = 1" in found.sentences[0]


def sigmoid_too_many(g, leaves, grads):
    s = torch.sigmoid(leaves[0])
    return [g * s * (1 - s)]


@pytest.mark.ledger("B169", covers="ftheta.explain.gradient_check")
def test_the_example_of_the_report_fails_as_printed_and_passes_in_both_right_forms():
    """Output = pre-activation and derivative of a sigmoid: the gradient of neither loss."""
    x = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, -2.0], [1.0, -1.0, 1.0]], dtype=torch.float64)
    y = torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)

    class Net(nn.Module):
        def __init__(self, out):
            super().__init__()
            self.W1 = nn.Parameter(torch.tensor([[0.4, 0.2, -1.2], [0.7, -0.7, -0.7]], dtype=torch.float64))
            self.W2 = nn.Parameter(torch.tensor([[0.4, -0.5, 2.3]], dtype=torch.float64))
            self.out = out

        def forward(self, x):
            return self.out(torch.cat([x[:, :1], torch.sigmoid(x @ self.W1.T)], 1) @ self.W2.T)[:, 0]

    def half(raw, target):
        return (raw - target) ** 2 / 2

    linear, sigmoid = (gradient_check(Net(out), x, y, half) for out in (nn.Identity(), nn.Sigmoid()))
    hybrid = gradient_check(Net(Planted(lambda z: z * 1, sigmoid_too_many)), x, y, half)
    assert linear.passed and sigmoid.passed and max(linear.worst, sigmoid.worst) < 1e-7
    np.testing.assert_allclose([linear.loss, sigmoid.loss], [0.923990, 0.503638], atol=5e-7)
    assert not hybrid.passed and hybrid.layer == "out" and hybrid.worst > 0.5
    assert hybrid.wrong == ("W1", "W2", "input")
    assert "derivative of sigmoid, which forward does not apply" in hybrid.verdict
    np.testing.assert_allclose(hybrid.got[1], [0.198301, 0.087966, 0.096189], atol=5e-7)  # the printed changes, eta = 1
    np.testing.assert_allclose(hybrid.expected[1], [1.255366, 0.613735, 0.688726], atol=5e-7)  # the loss has this slope
    np.testing.assert_allclose(
        hybrid.got[0], [-0.019120, -0.011790, -0.016300, 0.091154, 0.050226, 0.067815], atol=5e-7
    )
    truth = [-0.110826, -0.049435, -0.084408, 0.546822, 0.201194, 0.328250]
    np.testing.assert_allclose(hybrid.expected[0], truth, atol=5e-7)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell, self.head = kind(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.cell(x)[0][:, -1])


def right(seed):
    """A random net of a random kind, with rows for it."""
    torch.manual_seed(seed)
    act = [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.LeakyReLU, nn.SiLU, nn.ELU][seed % 7]
    n = 3 + seed % 4
    dense = lambda: nn.Sequential(nn.Linear(3, 6), act(), nn.Linear(6, 5), act(), nn.Linear(5, 2))  # noqa: E731
    deep = lambda: nn.Sequential(*(p for _ in range(6) for p in (nn.Linear(3, 3), act())), nn.Linear(3, 2))  # noqa: E731
    conv = lambda: nn.Sequential(nn.Conv2d(2, 3, 3), act(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2))  # noqa: E731
    norm = lambda: nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), act(), nn.LayerNorm(5), nn.Linear(5, 2))  # noqa: E731
    kinds = [dense, deep, conv, norm, lambda: Recurrent(nn.LSTM), lambda: Recurrent(nn.GRU)]
    net = kinds[seed % 6]()
    x = torch.randn((n, 2, 6, 6) if seed % 6 == 2 else (n, 4, 3) if seed % 6 > 3 else (n, 3))
    return net, x * [0.3, 1.0, 10.0][seed % 3], torch.randn(n, 2), seed % 2 == 1


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(s, marks=pytest.mark.middle) for s in range(10, 60))])
def test_a_right_net_raises_no_alarm(seed):
    net, x, y, training = right(seed)
    found = gradient_check(net, x, y, training=training, random_state=seed)
    assert found.passed and found.worst <= 1e-7, found.verdict
    assert found.layer == "" and not any(found.sentences) and set(found.kinds) <= {"", "kink"}
    assert "All gradients are right" in found.table().caption


@pytest.mark.parametrize("model", [MLPRegressor, MLPClassifier])
def test_an_estimator_is_checked_with_its_own_objective(model):
    x = RNG.normal(size=(12, 3))
    y = x[:, 0] if model is MLPRegressor else np.array(["a", "b", "c"] * 4)
    fitted = model(hidden=(4,), epochs=1, random_state=0).fit(x, y)
    found = gradient_check(fitted, x, y)
    assert found.passed and found.names[-1] == "input" and len(found.names) == 5
    with pytest.raises(InputError, match=r"learns from targets, but y is None; pass the y"):
        gradient_check(fitted, x)


def test_a_loss_with_a_wrong_derivative_is_not_blamed_on_the_net():
    net = nn.Linear(3, 2).double()

    def wrong(raw, y):
        return Spoiled.apply(lambda r, t: (r - t).square().sum(1) / 2, lambda g, t, d: [-d[0], None], raw, y)

    found = gradient_check(net, torch.randn(4, 3).double(), torch.randn(4, 2).double(), wrong)
    assert found.layer == "" and set(found.kinds) == {"sign"} and found.wrong == ("weight", "bias", "input")


def test_a_kink_is_named_and_is_no_mistake():
    found = gradient_check(nn.ReLU(), torch.tensor([[0.0, 1.0, -1.0]]), torch.tensor([[2.0, 0.0, 0.0]]))
    assert found.passed and found.kinds == ("kink",) and found.worst == 0 and np.isnan(found.along[0])
    assert "at [0, 0] the slope is 0 to the left and -2 to the right" in found.sentences[0]
    assert "Move the point" in found.sentences[0]
    planted = Planted(torch.relu, lambda g, t, d: [d[0] + 5 * g], **{})
    assert not gradient_check(planted, torch.tensor([[0.0, 1.0, -1.0]])).passed


def test_noise_that_no_seed_holds_is_a_sentence_and_dropout_is_held():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.rng = nn.Parameter(torch.ones(3)), torch.Generator().manual_seed(0)

        def __deepcopy__(self, memo):
            memo[id(self)] = new = Own()
            return new

        def forward(self, x):
            return x * self.w + torch.rand(3, generator=self.rng)

    with pytest.raises(
        InputError, match=r"Own gave the losses .* for the same rows and seed: it draws from a generator"
    ):
        gradient_check(Own(), torch.ones(2, 3))
    net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    found = gradient_check(net, torch.ones(2, 3), training=True)
    assert found.passed and found.notes == ("Dropout was drawn once and kept for all passes.",)
    assert gradient_check(net, torch.ones(2, 3)).notes == ()


def test_whole_numbers_unused_and_frozen_parameters_are_told():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.spare, self.stiff = nn.Embedding(5, 3), nn.Parameter(torch.ones(2)), nn.Linear(3, 1)
            self.stiff.requires_grad_(False)

        def forward(self, x):
            return self.stiff(self.table(x).mean(1))

    found = gradient_check(Words(), torch.tensor([[0, 1], [3, 4]]))
    assert found.passed and set(found.names) == {"table.weight", "spare"}
    assert "spare: has no part in this loss" in found.notes[0] and "integers" in found.notes[1]
    with pytest.raises(InputError, match=r"Words has no parameter that trains, and its inputs are integers"):
        gradient_check(Words().requires_grad_(False), torch.tensor([[0, 1]]))


def test_of_a_large_tensor_a_sample_is_compared_and_a_direction_sees_the_rest():
    torch.manual_seed(0)
    net = Planted(DENSE, changed(1, lambda g, t, d: -d), w=(30, 30), b=(30,))
    found = gradient_check(net, torch.randn(3, 30).double(), entries=7)
    assert (
        len(found.index[0]) == 7
        and found.kinds[0] == "sign"
        and found.notes == ("Of w a random sample of entries was compared.",)
    )

    def hidden(g, leaves, grads):
        grads[1] = grads[1].clone()
        grads[1][29, 29] += 1
        return grads

    lost = gradient_check(Planted(DENSE, hidden, w=(30, 30), b=(30,)), torch.randn(3, 30).double(), entries=3)
    assert not lost.passed and "none of 3 entries; raise entries=" in lost.sentences[0]


def test_the_module_is_left_as_it_was():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    net[0].weight.grad = torch.full((4, 3), 7.0)
    net[1].eval()
    before, x, state = copy.deepcopy(net.state_dict()), torch.randn(5, 3), torch.get_rng_state()
    given = x.clone()
    for training in (False, True):
        gradient_check(net, x, torch.randn(5, generator=torch.Generator().manual_seed(0)), training=training)
    assert all(torch.equal(before[k], v) for k, v in net.state_dict().items()) and torch.equal(x, given)
    assert (net[0].weight.grad == 7).all() and net[0].bias.grad is None and net.training and not net[1].training
    assert net[0].weight.dtype == torch.float32 and not x.requires_grad and not net[0]._forward_hooks
    assert torch.equal(torch.get_rng_state(), state)
