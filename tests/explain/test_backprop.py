"""Back-propagation by hand: every number against autograd and central differences; the examples of the sources."""

import inspect
import itertools
import re

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier, explain
from ftheta.draw import Draw
from ftheta.explain import MismatchedOutput, backprop, worked_example
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian, Laplace, LearnedGaussian
from ftheta.nn import MLP, POOLINGS, Bump, Residual, Sin, convolution, norm, pooling

TOLERANCE = {"rtol": 1e-6, "atol": 1e-9}


def seeded(make, seed=0):
    with Draw(seed).scope():
        return make().double()


def by_autograd(net, x, y, each, training=False):
    """Values, δ and gradients of each row by torch's own graph: what leaf layers gave, and what arrived there."""
    seen, handles = [], []
    for name, part in net.named_modules():
        if not part._modules:

            def hook(layer, inputs, out, name=name):
                out = out.clone() if out is inputs[0] else out  # so that a value of its own can have its own δ
                seen.append((name or type(layer).__name__, out[0] if isinstance(out, tuple) else out))
                return out

            handles.append(part.register_forward_hook(hook))
    was = net.training
    net.train(training)
    x = x.clone().requires_grad_() if x.is_floating_point() else x
    losses = each(net(x), y)
    params = dict(net.named_parameters())
    own = list(params.values())
    rows = [torch.autograd.grad(one, own, retain_graph=True, allow_unused=True) if own else () for one in losses]
    gradients = {
        n: np.stack([np.zeros(p.shape) if row[k] is None else row[k].numpy() for row in rows])
        for k, (n, p) in enumerate(params.items())
    }
    ends = [*([x] if x.is_floating_point() else []), *(v for _, v in seen)]
    deltas = [None if d is None else d.numpy() for d in torch.autograd.grad(losses.sum(), ends, allow_unused=True)]
    net.train(was)
    for handle in handles:
        handle.remove()
    delta_x = deltas.pop(0) if x.is_floating_point() else None
    values = [(name, v.detach().numpy(), d) for (name, v), d in zip(seen, deltas, strict=True)]
    return values, delta_x, gradients, losses.detach().numpy()


def agrees(found, net, x, y, each, training=False):
    """Every number that is shown equals autograd's."""
    values, delta_x, gradients, losses = by_autograd(net, x, y, each, training)
    np.testing.assert_allclose(found.losses, losses, **TOLERANCE)
    if delta_x is not None:
        np.testing.assert_allclose(found.steps[0].delta, delta_x, **TOLERANCE)
    layers = [step for step in found.steps if step.kind not in ("input", "operation")]
    assert [step.name.partition("[")[0] for step in layers] == [name for name, *_ in values]
    for step, (_, value, delta) in zip(layers, values, strict=True):
        np.testing.assert_allclose(step.value, value, **TOLERANCE)
        if delta is not None:
            np.testing.assert_allclose(step.delta, delta, **TOLERANCE, err_msg=step.name)
    assert set(found.gradients) == set(gradients)
    for name, truth in gradients.items():
        np.testing.assert_allclose(found.gradients[name], truth, **TOLERANCE, err_msg=name)
        total = truth.mean(0)
        np.testing.assert_allclose(found.gradient[name], total, **TOLERANCE)
        np.testing.assert_allclose(
            found.new[name], dict(net.named_parameters())[name].detach().numpy() - total, **TOLERANCE
        )


# ---- networks of several parts

NAMES = "Identity ReLU LeakyReLU ELU CELU SELU GELU SiLU Mish Softplus Sigmoid Tanh Softsign LogSigmoid Hardtanh ReLU6"
ACTIVATIONS = [getattr(nn, name) for name in NAMES.split()] + [Sin, Bump]
LOSSES = {
    "half-square": ("half-square", lambda raw, y: ((raw - y) ** 2).sum(1) / 2, "real"),
    "square": ("square", lambda raw, y: ((raw - y) ** 2).sum(1), "real"),
    "absolute": ("absolute", lambda raw, y: (raw - y).abs().sum(1), "real"),
    "gaussian": (Gaussian(scale=2.0), lambda raw, y: Gaussian(scale=2.0).nll(raw, y), "real"),
    "laplace": (Laplace(), lambda raw, y: Laplace().nll(raw, y), "real"),
    "bernoulli": (
        "bernoulli",
        lambda raw, y: nn.functional.binary_cross_entropy_with_logits(raw, y, reduction="none").sum(1),
        "bits",
    ),
    "categorical": (nn.CrossEntropyLoss(reduction="none"), nn.CrossEntropyLoss(reduction="none"), "classes"),
    "own": (lambda raw, y: (raw.exp() - y).cos().sum(1), lambda raw, y: (raw.exp() - y).cos().sum(1), "real"),
}


class Glue(nn.Module):
    """Operations between layers, on parameters of its own."""

    def __init__(self, n):
        super().__init__()
        self.left, self.w, self.b = nn.Linear(n, n), nn.Parameter(torch.randn(n, n)), nn.Parameter(torch.randn(n))

    def forward(self, x):
        h = torch.tanh(x @ self.w.T + self.b)
        h = torch.cat((h, self.left(x)), 1).view(len(x), 2, -1).mean(1)
        h += 0.5 * x
        return nn.functional.relu(1 - h) * h.sum(1, keepdim=True) / (1 + x.square())


class Own(nn.Module):
    """A layer that no table knows."""

    def __init__(self, n):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, n))

    def forward(self, x):
        return torch.sin(x * self.scale) + x.roll(1, -1)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_number_of_a_network_of_many_parts_is_that_of_autograd(loss, training):
    given, each, kind = LOSSES[loss]
    block = Residual(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), block, Own(4), Glue(4), nn.Linear(4, 2)))
    y = {"real": Y, "bits": (Y > 0).double(), "classes": (Y[:, 0] > 0).long()}[kind]
    agrees(backprop(net, X, y, given, training=training), net, X, y, each, training)
    assert backprop(net, X, y, given, max_rows=2).gradients["0.weight"].shape[0] == 2
    captions = [backprop(net, X, y, given, max_rows=n).caption for n in (2, len(X))]
    assert captions[0].startswith(f"2 rows of {len(X)}: ") and captions[1].startswith(f"{len(X)} rows: ")


# ---- every kind by itself

MAP, LINE, SEQUENCE, ROW = (2, 4, 5, 6), (2, 4, 7), (2, 3, 2), (2, 4)
ALONE = {
    ROW: [
        *(kind() for kind in ACTIVATIONS),
        *(nn.Linear(4, 3), nn.PReLU(4), nn.PReLU(), nn.Softmax(1), nn.LogSoftmax(1), nn.LayerNorm(4), nn.RMSNorm(4)),
        *(nn.GELU("tanh"), nn.BatchNorm1d(4), norm("batch", 4, dims=0), nn.Unflatten(1, (2, 2)), nn.Dropout(0.5)),
        *(MLP(2, 2, (3,), dropout=0.5)[2], MismatchedOutput(), nn.RNNCell(4, 3), nn.GRUCell(4, 3), nn.LSTMCell(4, 3)),
        *(nn.RNNCell(4, 3, nonlinearity="relu"), nn.Flatten()),
    ],
    LINE: [
        *(nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), convolution(4, 2, 3, dims=1)),
        *(nn.MaxPool1d(3, 2, 1), nn.AvgPool1d(3, 2, 1), *(pooling(k, dims=1) for k in POOLINGS)),
        *(nn.AdaptiveAvgPool1d(3), nn.InstanceNorm1d(4, affine=True), norm("instance", 4, dims=1), nn.Dropout1d()),
        *(norm("group", 4, dims=1), norm("rms", 4, dims=1), norm("batch", 4, dims=1)),
    ],
    MAP: [
        *(nn.Conv2d(4, 2, (1, 3), padding="same"), convolution(4, 2, 3), nn.BatchNorm2d(4), nn.GroupNorm(2, 4)),
        *(nn.MaxPool2d(2, dilation=2), nn.AvgPool2d(2, count_include_pad=False, padding=1), nn.Dropout2d()),
        *(*(pooling(k) for k in POOLINGS), nn.AdaptiveAvgPool2d((2, 4)), nn.InstanceNorm2d(4), norm("instance", 4)),
        *(norm("batch", 4), nn.PixelShuffle(2), nn.AvgPool2d(2, divisor_override=3), nn.PReLU(4)),
    ],
    (2, 4, 2, 4, 2): [nn.Conv3d(4, 2, 2), nn.MaxPool3d(2), nn.AvgPool3d(2), nn.AdaptiveAvgPool3d(1), nn.BatchNorm3d(4)],
    (2, 4, 3, 2, 2): [nn.AdaptiveMaxPool3d(1), nn.InstanceNorm3d(4), nn.Dropout3d()],
    (2, 1, 4, 4): [nn.PixelUnshuffle(2)],
    SEQUENCE: [kind(2, 3, 2, batch_first=True, bidirectional=True) for kind in (nn.RNN, nn.LSTM, nn.GRU)],
}


class First(nn.Module):
    """All numbers of the first tensor that a part gives, one row each."""

    def __init__(self, part):
        super().__init__()
        self.part, self.idle = part, nn.Parameter(torch.ones(1))  # what says that numbers are double

    def forward(self, x):
        found = self.part(x)
        return (found[0] if isinstance(found, tuple) else found).flatten(1)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", ALONE, ids=str)
def test_every_known_layer_agrees_with_autograd_by_itself(shape, training):
    for part in ALONE[shape]:
        net = seeded(lambda part=part: First(part))
        with Draw(1).scope():
            for p in net.parameters():
                nn.init.normal_(p)
            x = torch.randn(shape).double()
            y = torch.randn(net.eval()(x).shape).double()
        if "Dropout" in type(part).__name__ and training:
            continue  # two passes draw twice: another test
        found = backprop(net, x, y, "half-square", training=training)
        latex = found.latex()
        assert found.steps[1].known and latex.isascii() and latex.count("{") == latex.count("}"), part
        assert not re.search(r"(?<!\\)\b(exp|log|tanh)\(", latex), part
        agrees(found, net, x, y, both, training)


OPERATED = {
    "iadd": lambda x, w: _into(x, lambda h: h.__iadd__(w)),
    "rsub": lambda x, w: 1.0 - x,
    "mul": lambda x, w: x * w[:, :1],
    "div": lambda x, w: torch.div(w, x),
    "itruediv": lambda x, w: _into(x, lambda h: h.__itruediv__(w)),
    "matmul": lambda x, w: x @ w.mT,
    "bmm": lambda x, w: torch.bmm(x[:, :, None], w[:, None]),
    "linear": lambda x, w: nn.functional.linear(x, w[:, :4], w[:, 0]),
    "sum": lambda x, w: x.sum(1, keepdim=True) * w + x.sum(),
    "mean": lambda x, w: x.mean((0, 1)) * w + x.mean(-1, keepdim=True),
    "stack": lambda x, w: torch.stack((x, w), 1),
    "getitem": lambda x, w: x[:, [0, 0, 2]] * w[..., 1:],
    "transpose": lambda x, w: x.transpose(0, 1).reshape(2, 4),
    "expand": lambda x, w: x[:, :1].expand(2, 4),
    "split": lambda x, w: torch.cat(x.split(3, 1)[::-1], 1) * w,
    "unbind": lambda x, w: x.unbind(1)[2],
    "log_sigmoid": lambda x, w: nn.functional.logsigmoid(x) + nn.functional.leaky_relu(x, negative_slope=0.3),
    **{n: lambda x, w, n=n: getattr(nn.functional, n)(x) for n in ("silu", "elu", "softplus")},
    **{n: lambda x, w, n=n: getattr(torch, n)(x.square() + 1) for n in ("tanh", "exp", "abs", "neg", "log", "sqrt")},
}


def _into(x, change):
    h = x * 1.0
    change(h)
    return h


@pytest.mark.parametrize("name", OPERATED)
def test_operations_between_layers_agree_with_autograd(name):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(2, 4))

        def forward(self, x):
            return OPERATED[name](x, self.w).flatten(1 if name != "unbind" else 0)

    with Draw(0).scope():
        net, x = Net().double(), torch.randn(2, 4).double()
        y = torch.randn(net(x).shape).double()
    each = (lambda raw, t: (raw - t) ** 2 / 2) if name == "unbind" else both
    found = backprop(net, x, y, each)
    _, delta_x, gradients, _ = by_autograd(net, x, y, each)
    np.testing.assert_allclose(found.steps[0].delta, delta_x, atol=1e-12)
    np.testing.assert_allclose(found.gradients["w"], gradients["w"], atol=1e-12)
    assert all(step.known for step in found.steps), [step.name for step in found.steps if not step.known]


# ---- the example of the report, in three readings of its output unit


def joined(arrays, layer):
    """(b | W): the weight of the constant component first."""
    return np.column_stack((arrays[f"{layer}.bias"], arrays[f"{layer}.weight"]))


def digits(found, expected, places=6):
    np.testing.assert_allclose(np.squeeze(found), expected, rtol=0, atol=0.5 * 10.0**-places + 1e-12)


def central(net, x, y, each, eps=1e-5):
    """Central differences of the mean loss for every weight."""
    found = {}
    for name, p in net.named_parameters():
        slopes = np.zeros(p.shape)
        for place in itertools.product(*map(range, p.shape)):
            ends = []
            for sign in (1, -1):
                with torch.no_grad():
                    old = p[place].item()
                    p[place] = old + sign * eps
                    ends.append(each(net(x), y).mean().item())
                    p[place] = old
            slopes[place] = (ends[0] - ends[1]) / (2 * eps)
        found[name] = slopes
    return found


def half(raw, y):
    return (raw[:, 0] - y) ** 2 / 2


@pytest.mark.parametrize("of", [nn.BCEWithLogitsLoss, nn.CrossEntropyLoss, nn.MSELoss, nn.L1Loss])
def test_a_loss_with_options_has_no_formula_of_its_own(of):
    x, raw = torch.tensor([[0.5], [-1.0]]).double(), 2 if of is nn.CrossEntropyLoss else 1
    y = torch.tensor([0, 1]) if raw == 2 else torch.tensor([[0.0], [1.0]]).double()
    net = seeded(lambda: nn.Linear(1, raw))
    options = {"weight": torch.ones(raw), "pos_weight": torch.full((1,), 3.0), "label_smoothing": 0.2}
    assert backprop(net, x, y, of(reduction="none")).words != ("ℓ = f(raw, y)", "δ = ∂ℓ/∂raw")
    for name in options.keys() & inspect.signature(of).parameters.keys():
        loss = of(reduction="none", **{name: options[name]}).double()
        assert backprop(net, x, y, loss).words == ("ℓ = f(raw, y)", "δ = ∂ℓ/∂raw"), name


@pytest.mark.ledger("B159", covers="ftheta.explain.backprop")
def test_the_slope_of_a_sigmoid_is_s_times_one_minus_s():
    net = nn.Sequential(nn.Sigmoid())
    x = torch.tensor([[0.0], [-0.6], [2.8]]).double()
    found = backprop(net, x, torch.zeros(3).double(), lambda raw, y: raw[:, 0])
    digits(found.steps[0].delta, [0.25, 0.228784, 0.054038])
    assert found.steps[1].backward.endswith("a (1 - a)") and found.gap != found.gap  # no parameter to go along


@pytest.mark.ledger("B160", covers="ftheta.explain.worked_example")
def test_hidden_layer_of_the_example():
    """Table 8 cuts 0.942676 to 0.942 where all other numbers are rounded, and Table 10 is the same with either."""
    net, x, y, loss = worked_example("printed")
    found = backprop(net, x, y, loss)
    constant = np.column_stack((np.ones(3), found.step("input").value))
    assert constant.tolist() == [[1, 1, 1], [1, 0, -2], [1, -1, 1]]
    digits(joined(found.parameters, "hidden"), [[0.4, 0.2, -1.2], [0.7, -0.7, -0.7]])
    digits(found.step("hidden").value.T, [[-0.6, 2.8, -1.0], [-0.7, 2.1, 0.7]])
    a = found.step("sigmoid").value.T
    digits(a, [[0.354344, 0.942676, 0.268941], [0.331812, 0.890903, 0.668188]])
    at_the_output = [[0.4 - 0.5 * cut + 2.3 * 0.891 for cut in (0.942, 0.943)]]
    np.testing.assert_array_equal(np.round(at_the_output, 3), 1.978)


@pytest.mark.ledger("B161", covers="ftheta.explain.worked_example")
def test_output_pre_activations_of_the_example():
    found = backprop(*worked_example("printed"))
    digits(joined(found.parameters, "output"), [0.4, -0.5, 2.3])
    digits(found.step("output").value, [0.985996, 1.977739, 1.802361])
    rounded = np.round(found.step("sigmoid").value, 3)
    assert round(0.4 - 0.5 * rounded[0, 0] + 2.3 * rounded[0, 1], 3) == 0.987 != 0.986  # so the table used all digits


@pytest.mark.ledger(
    *("B162",),
    covers="ftheta.explain.worked_example",
    says="½ (ξ - target)², with the pre-activation ξ for the output σ(ξ)",
    printed=[1.972, 0.478, 0.322],
    right=[1.493504, 0.007388, 0.010020],
)
def test_losses_of_the_example_with_the_pre_activation_and_with_the_output(ledger):
    """Table 11 inserts ξ₂ where σ(ξ₂) belongs."""
    printed, sigmoid = (backprop(*worked_example(variant)) for variant in ("printed", "sigmoid"))
    digits(printed.losses, [1.972091, 0.477987, 0.321892])
    digits(printed.loss, 0.923990)
    digits(sigmoid.step("unit").value, [0.728296, 0.878440, 0.858436])
    digits(sigmoid.losses, [1.493504, 0.007388, 0.010020])
    digits(sigmoid.loss, 0.503638)
    assert sigmoid.step("unit").value.min() > 0 > worked_example()[2].min()  # a target of -1 is out of reach
    ledger(sigmoid.losses, rtol=1e-3)


@pytest.mark.ledger(
    *("B163",), covers="ftheta.explain.backprop", printed=[0.393, 0.104, 0.098], right=[0.341997, -0.012981, -0.017203]
)
def test_printed_deltas_of_the_example_are_the_gradient_of_neither_loss(ledger):
    found = {variant: backprop(*worked_example(variant)) for variant in ("printed", "linear", "sigmoid")}
    deltas = {variant: f.step("output").delta[:, 0] for variant, f in found.items()}
    digits(deltas["printed"], [0.392990, 0.104406, 0.097506])
    digits(deltas["linear"], [1.985996, 0.977739, 0.802361])
    digits(deltas["sigmoid"], [0.341997, -0.012981, -0.017203])
    assert found["printed"].warning.startswith("These numbers are not the gradient of this loss")
    assert found["printed"].warning in found["printed"].table().caption
    assert not found["linear"].warning and not found["sigmoid"].warning
    for variant in ("linear", "sigmoid"):
        net, x, y, _ = worked_example(variant)
        for name, slope in central(net, x, y, half).items():
            np.testing.assert_allclose(found[variant].gradient[name], slope, rtol=1e-6)
            assert not np.allclose(found["printed"].gradient[name], slope, rtol=0.1)
    ledger(deltas["sigmoid"])


@pytest.mark.ledger("B164", covers="ftheta.explain.worked_example", printed=0.049, right=0.050)
def test_hidden_deltas_of_the_example(ledger):
    """δ of the third point is 0.049722: 0.050 as in Table 13, not 0.049 as in Table 15."""
    delta = backprop(*worked_example("printed")).step("hidden").delta.T
    digits(delta, [[-0.044955, -0.002821, -0.009585], [0.200401, 0.023340, 0.049722]])
    ledger(round(delta[1, 2], 3), rtol=1e-9)


@pytest.mark.ledger(
    *("B165",),
    covers="ftheta.explain.worked_example",
    printed=[-0.198, -0.088, -0.096],
    right=[-0.103938, -0.034774, -0.030140],
)
def test_weight_changes_of_the_example(ledger):
    """Printed: not the negative gradient of any stated loss."""
    found = backprop(*worked_example("printed"), lr=1.0)
    digits(joined(found.update, "output"), [-0.198301, -0.087966, -0.096189])
    digits(joined(found.update, "hidden"), [[0.019120, 0.011790, 0.016300], [-0.091154, -0.050226, -0.067815]])
    net, x, y, _ = worked_example("sigmoid")
    ledger(-joined(central(net, x, y, half), "output"), rtol=1e-4)


@pytest.mark.ledger("B166", covers="ftheta.explain.worked_example")
def test_new_weights_of_the_example_lower_both_losses_by_luck():
    found = backprop(*worked_example("printed"))
    digits(joined(found.new, "output"), [0.201699, -0.587966, 2.203811])
    digits(joined(found.new, "hidden"), [[0.419120, 0.211790, -1.183700], [0.608846, -0.750226, -0.767815]])
    digits([found.loss, found.loss_after], [0.923990, 0.536658])
    net, x, y, loss = worked_example("sigmoid")
    net.load_state_dict({name: torch.from_numpy(value) for name, value in found.new.items()})
    digits(backprop(net, x, y, loss).loss, 0.464318)


EXPECTED = {
    "linear": {
        "output": [1.985996, 0.977739, 0.802361],
        "hidden": [[-0.227182, -0.026418, -0.078877], [1.012738, 0.218572, 0.409156]],
        "dW2": [-1.255366, -0.613735, -0.688726],
        "dW1": [[0.110826, 0.049435, 0.084408], [-0.546822, -0.201194, -0.328250]],
        "W2": [-0.855366, -1.113735, 1.611274],
        "W1": [[0.510826, 0.249435, -1.115592], [0.153178, -0.901194, -1.028250]],
        "losses": [0.923990, 0.664982],
    },
    "sigmoid": {
        "output": [0.341997, -0.012981, -0.017203],
        "hidden": [[-0.039122, 0.000351, 0.001691], [0.174398, -0.002902, -0.008773]],
        "dW2": [-0.103938, -0.034774, -0.030140],
        "dW1": [[0.012360, 0.013604, 0.012711], [-0.054241, -0.061057, -0.057143]],
        "W2": [0.296062, -0.534774, 2.269860],
        "W1": [[0.412360, 0.213604, -1.187289], [0.645759, -0.761057, -0.757143]],
        "losses": [0.503638, 0.480058],
    },
}


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param("linear", marks=pytest.mark.ledger("B167", covers="ftheta.explain.worked_example")),
        pytest.param("sigmoid", marks=pytest.mark.ledger("B168", covers="ftheta.explain.worked_example")),
    ],
)
def test_consistent_readings_of_the_example_are_gradients(variant):
    net, x, y, loss = worked_example(variant)
    found, expected = backprop(net, x, y, loss), EXPECTED[variant]
    for layer in ("output", "hidden"):
        digits(found.step(layer).delta.T, expected[layer])
    digits(joined(found.update, "output"), expected["dW2"])
    digits(joined(found.update, "hidden"), expected["dW1"])
    digits(joined(found.new, "output"), expected["W2"])
    digits(joined(found.new, "hidden"), expected["W1"])
    digits([found.loss, found.loss_after], expected["losses"])
    for name, slope in central(net, x, y, half).items():
        np.testing.assert_allclose(found.gradient[name], slope, rtol=1e-6)


# ---- formulas of the notes

X = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 3)))
Y = torch.from_numpy(np.random.default_rng(1).normal(size=(4, 2)))


def outputs(found, *kinds):
    return [step.value for step in found.steps if step.kind in kinds]


def both(raw, y):
    return ((raw - y) ** 2).sum(1) / 2


def deep(*kinds, widths=(3, 4, 3, 2), seed=0):
    pairs = zip(itertools.pairwise(widths), kinds, strict=True)
    return seeded(lambda: nn.Sequential(*(part for (a, b), kind in pairs for part in (nn.Linear(a, b), kind()))), seed)


@pytest.mark.ledger("A262", "C105", covers="ftheta.explain.backprop")
def test_deltas_start_with_the_slope_of_the_loss_and_go_back_by_the_recursion():
    """δ^K = φ'(z) ∂ℓ/∂a, then φ'(z_{k-1}) ⊙ Wᵀ δ_k: written out in NumPy, and equal to central differences."""
    net = deep(nn.ReLU, nn.ReLU, nn.ReLU, nn.Identity, widths=(3, 4, 2, 3, 2), seed=3)
    x = X[:, :3]
    found = backprop(net, x, Y, "half-square")
    slopes, z = (lambda v: v > 0, lambda v: v > 0, lambda v: v > 0, np.ones_like), outputs(found, "Linear")
    delta = slopes[-1](z[-1]) * (z[-1] - Y.numpy())
    for k in (3, 2, 1, 0):
        np.testing.assert_allclose(found.step(str(2 * k)).delta, delta, atol=1e-12)
        if k:
            delta = slopes[k - 1](z[k - 1]) * (delta @ net[2 * k].weight.detach().numpy())
    assert max(abs(found.gradient[n] - s).max() for n, s in central(net, x, Y, both).items()) < 1e-8
    alone = [backprop(net, x[i : i + 1], Y[i : i + 1], "half-square") for i in range(4)]
    for name, g in found.gradients.items():
        np.testing.assert_allclose(g, np.concatenate([one.gradients[name] for one in alone]), atol=1e-14)


@pytest.mark.ledger("A263", covers="ftheta.explain.backprop")
def test_hidden_deltas_take_the_slope_of_their_own_activation():
    """tanh, then sigmoid: the next layer's slope in its place, as the proof prints it, is off."""
    net = deep(nn.Tanh, nn.Sigmoid, widths=(3, 4, 2))
    found, slopes = backprop(net, X, Y, "half-square"), central(net, X, Y, both)
    assert max(abs(found.gradient[n] - s).max() for n, s in slopes.items()) < 1e-9
    s = 1 / (1 + np.exp(-found.step("0").value))
    wrong = s * (1 - s) * (found.step("2").delta @ net[2].weight.detach().numpy())  # σ'_{j+1}(z^j)
    assert abs(wrong.T @ X.numpy() / 4 - slopes["0.weight"]).max() > 0.01


@pytest.mark.ledger("A264", "A265", "C106", covers="ftheta.explain.backprop")
def test_bias_gradients_are_deltas_and_weight_gradients_outer_products():
    net = deep(nn.Tanh, nn.ELU, nn.Identity)
    found, x = backprop(net, X, Y, "half-square"), X.numpy()
    before = [x, *outputs(found, "Tanh", "ELU")]
    for k, name in enumerate(("0", "2", "4")):
        delta = found.step(name).delta
        np.testing.assert_allclose(found.gradients[f"{name}.bias"], delta, atol=1e-14)
        np.testing.assert_allclose(
            found.gradients[f"{name}.weight"], delta[:, :, None] * before[k][:, None], atol=1e-14
        )
        assert found.gradient[f"{name}.weight"].shape == net[2 * k].weight.shape  # D_{k+1} × D_k
    for name, slope in central(net, X, Y, both).items():
        np.testing.assert_allclose(found.gradient[name], slope, rtol=1e-6, atol=1e-9)


@pytest.mark.ledger("B014", "B156", "B157", covers="ftheta.explain.backprop")
@pytest.mark.parametrize("widths", [(3, 2), (3, 5, 2), (3, 4, 6, 3, 2)])
def test_one_routine_gives_deltas_and_updates_of_any_depth_and_width(widths):
    """δ is ∂ℓ_p/∂ξ of one row: the mean divides by P once. Dividing ∂E/∂ξ of the mean again is off by P."""
    net = deep(*[nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Tanh][: len(widths) - 1], widths=widths)
    found = backprop(net, X, Y, "half-square", lr=0.5)
    assert [step.name for step in found.steps][1:] == [str(k) for k in range(2 * (len(widths) - 1))]
    for name, slope in central(net, X, Y, both).items():
        assert abs(found.gradient[name] - slope).max() / abs(slope).max() < 1e-6
        np.testing.assert_allclose(found.update[name], -0.5 * found.gradients[name].mean(0), atol=1e-15)
        assert abs(found.gradient[name] / 4 - slope).max() / abs(slope).max() > 0.7  # P = 4, divided by twice
    total = backprop(net, X, Y, "half-square", reduction="sum").gradient
    np.testing.assert_allclose(total["0.weight"], 4 * found.gradient["0.weight"], rtol=1e-12)


@pytest.mark.ledger("B153", "C104", covers="ftheta.explain.backprop")
def test_forward_keeps_one_more_pre_activation_than_there_are_hidden_layers():
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    found = backprop(net, X, Y, "half-square")
    z, h = outputs(found, "Linear"), outputs(found, "Tanh", "ReLU")
    assert [v.shape[1] for v in z] == [4, 3, 2] and [v.shape[1] for v in h] == [4, 3]  # K = 2
    extended = np.column_stack((np.ones(4), X.numpy()))  # the bias as the weight of a constant 1
    np.testing.assert_allclose(z[0], extended @ joined(found.parameters, "0").T, rtol=1e-12)
    np.testing.assert_allclose(h[0], np.tanh(z[0]), rtol=1e-12)
    np.testing.assert_allclose(z[2], net(X).detach(), rtol=1e-12)


OUTPUT_GRADIENT = [[0.0440, 0.0371, 0.0717], [0.0326, 0.0157, 0.0521]]


@pytest.mark.ledger(
    *("B155",),
    covers="ftheta.explain.backprop",
    says="(1/P) Σ_p Σ_i δ_ip x_jp; without the sum over i for a single output",
    printed=[[0.0766, 0.0528, 0.1238]] * 2,
    right=OUTPUT_GRADIENT,
)
def test_output_gradients_of_several_units_are_not_summed_over_units(ledger):
    """δ and x that give the numbers of the check: the printed sum over i puts the sum of both rows into each."""
    h = torch.tensor(OUTPUT_GRADIENT).double()
    net = seeded(lambda: nn.Linear(3, 2, bias=False))
    y = net(h).detach() - torch.eye(2).double()  # δ_p is the p-th unit vector, so that Σ_p δ_ip x_jp = x_ji
    found = backprop(net, h, y, "half-square", reduction="sum")
    np.testing.assert_allclose(found.gradient["weight"], central(net, h, y, lambda r, t: 2 * both(r, t))["weight"])
    printed = np.broadcast_to(found.gradient["weight"].sum(0), (2, 3))
    np.testing.assert_allclose(printed, [[0.0766, 0.0528, 0.1238]] * 2, atol=1e-12)
    ledger(found.gradient["weight"])


@pytest.mark.ledger("C109", covers="ftheta.explain.backprop")
def test_the_product_of_the_layers_jacobians_is_the_delta():
    net = deep(nn.Tanh, nn.Sigmoid, nn.Identity)
    found = backprop(net, X[:1], Y[:1], "half-square")
    row = (outputs(found, "Linear")[-1] - Y[:1].numpy())[0]  # ∂ℓ/∂f
    values = [step.value[0] for step in found.steps]
    for number in range(len(net), 0, -1):
        np.testing.assert_allclose(found.steps[number].delta[0], row, atol=1e-10)
        row = row @ torch.func.jacrev(net[number - 1])(torch.from_numpy(values[number - 1])).detach().numpy()
    np.testing.assert_allclose(found.steps[0].delta[0], row, atol=1e-10)


@pytest.mark.ledger(
    "C110",
    covers="ftheta.explain.backprop",
    says="the gradients of A and b use the incoming gradient of h_l and the stored h_{l-1}",
    printed="h_bar",
    right="h_bar * phi'(z)",
)
def test_parameter_gradients_need_the_stored_pre_activation(ledger):
    """With h̄ alone in the place of z̄ = h̄ ⊙ φ'(z), the gradient of a tanh net is wrong by more than its own size."""
    net, x = deep(nn.Tanh, nn.Identity, widths=(3, 4, 2)), 4 * X
    found, slopes = backprop(net, x, Y, "half-square"), central(net, x, Y, both)
    truth, bar = slopes["0.weight"], found.step("1").delta
    forms = {"h_bar": bar, "h_bar * phi'(z)": bar * (1 - np.tanh(found.step("0").value) ** 2)}
    errors = {name: abs(d.T @ x.numpy() / 4 - truth).max() for name, d in forms.items()}
    assert errors["h_bar * phi'(z)"] < 1e-8 and errors["h_bar"] > abs(truth).max()
    ledger(min(errors, key=errors.get))


# ---- tables, sheets and pictures


def test_tables_print_units_down_and_rows_across():
    found = backprop(*worked_example("linear"))
    deltas = found.table("deltas", "hidden").columns
    assert list(deltas) == ["unit", "row 1", "row 2", "row 3"] and deltas["unit"] == ["1", "2"]
    np.testing.assert_allclose(np.array([deltas[f"row {i}"] for i in (1, 2, 3)]), found.step("hidden").delta)
    new = found.table("new", "hidden").columns
    np.testing.assert_allclose(np.array([new[c] for c in ("bias", "1", "2")]).T, joined(found.new, "hidden"))
    one = found.table("gradients", "output", row=1).columns
    np.testing.assert_allclose([one[c][0] for c in ("bias", "1", "2")], joined_row(found, 1))
    whats = list(dict.fromkeys(part.what for part in found.parts()))
    assert whats == ["values", "targets", "parameters", "losses", "deltas", "gradients", "updates", "new", "after"]
    names = [part.name for part in found.parts() if part.what == "deltas"]
    assert names == ["unit", "output", "sigmoid", "hidden", "input"]  # as one computes
    assert len(found.tables()) == len(found.parts())


def joined_row(found, row):
    return [found.gradients["output.bias"][row, 0], *found.gradients["output.weight"][row, 0]]


def test_pages_hold_every_table_with_its_formula():
    found = backprop(*worked_example("sigmoid"))
    markdown, latex = found.markdown(), found.latex()
    assert markdown.count("### ") == latex.count("\\paragraph") == len(found.parts())
    for formula in (r"$a = \sigma(z)$", r"$\delta_h = W^\top \delta$", r"\partial\ell/\partial W = \delta h^\top"):
        assert formula in markdown and formula in latex
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") == len(found.parts())
    assert "| 1 | 0.3543 | 0.9427 | 0.2689 |" in markdown and "1 & 0.3543 & 0.9427 & 0.2689" in latex
    assert latex.isascii() and markdown.startswith("# Back-prop") and latex.startswith("\\section*{Back-prop")


def test_an_exercise_has_numbered_blanks_and_its_solution_the_numbers():
    found = backprop(*worked_example("linear"))
    sheet = found.exercise(random_state=3, share=0.3)
    given = sum(part.given for part in found.parts())
    assert [part.given for part in sheet.blank][:given] == [True] * given
    total = sum(isinstance(v, float) for p in found.parts() if not p.given for c in p.table.columns.values() for v in c)
    assert len(sheet.answers) == round(0.3 * total)
    for style in ("markdown", "latex", "html"):
        blank, solved = getattr(sheet, style)(), getattr(sheet, style)(solution=True)
        assert blank.count("......") == len(sheet.answers) and "......" not in solved
        for k, answer in enumerate(sheet.answers, 1):
            assert f"({k}) ......" in blank and f"({k}) {answer:.4f}" in solved
    for before, after, solved in zip(found.parts(), sheet.blank, sheet.filled, strict=True):
        for name, column in before.table.columns.items():
            for value, left, right in zip(column, after.table.columns[name], solved.table.columns[name], strict=True):
                assert left == value or f"{value:.4f}" == right.partition(") ")[2]
    assert (
        found.exercise(random_state=3, share=0.3).markdown()
        == sheet.markdown()
        != found.exercise(random_state=4, share=0.3).markdown()
    )
    assert "<table" in sheet._repr_html_()


def test_the_picture_of_a_small_net_carries_the_numbers_of_one_row():
    found = backprop(*worked_example("printed"))
    said = [text.get_text() for text in found.figure(row=1).axes[0].texts]
    gradient = f"{found.gradients['output.weight'][1, 0, 0]:.4g}"
    assert {"z = 2.8", "a = 0.9427", "δ = -0.002821", "δ = 0.1044", "x = -2", "-1.2", "2.3", gradient} <= set(said)
    assert found.figure(row=1).axes[0].get_title().startswith("Row 2: loss 0.478")


def test_larger_nets_and_nets_with_ways_past_layers_are_drawn_as_boxes():
    net = seeded(lambda: nn.Sequential(Residual(nn.Linear(3, 3)), Own(3), nn.Linear(3, 2)))
    found = backprop(net, X, Y, "half-square")
    axes = found.figure().axes[0]
    said = [text.get_text() for text in axes.texts]
    assert len(said) >= len(found.steps) and "too many numbers" in axes.get_title()
    assert any(f"{np.linalg.norm(found.step('2').delta[0]):.3g}" in words for words in said if "2: Linear" in words)
    wide = backprop(seeded(lambda: nn.Linear(3, 30)), X, torch.zeros(4, 30).double(), "half-square")
    assert "too many numbers" in wide.figure().axes[0].get_title()
    assert len(wide.table("values", "Linear").columns["unit"]) == 16
    assert wide.table("values", "Linear").caption.endswith("The first 16 of 30 units.")


# ---- modules and estimators as they come


def test_a_residual_sum_passes_delta_both_ways():
    net = seeded(lambda: Residual(nn.Sequential(nn.Linear(2, 2), nn.Tanh())))
    found = backprop(net, X[:, :2], Y, "half-square")
    plus = found.step("+")
    assert plus.kind == "operation" and plus.known and plus.backward == "δ_a = δ, δ_b = δ"
    branch = found.step("branch.0").delta @ net.branch[0].weight.detach().numpy()
    np.testing.assert_allclose(found.steps[0].delta, plus.delta + branch, atol=1e-12)


def test_dropout_in_training_silences_the_same_units_both_ways():
    for kind in (nn.Dropout(0.5), MLP(2, 2, (9,), dropout=0.5)[2]):
        net = seeded(lambda kind=kind: nn.Sequential(nn.Linear(3, 9), nn.ReLU(), kind, nn.Linear(9, 2)))
        found = backprop(net, X, Y, "half-square", training=True)
        kept = found.step("2").value != 0
        silent = ~kept & (found.step("1").value != 0)
        assert silent.any() and not found.step("1").delta[silent].any() and found.gap != found.gap
        np.testing.assert_allclose(found.step("1").delta[kept], 2 * found.step("2").delta[kept], rtol=1e-3)


def test_embeddings_and_tied_layers_add_what_comes_from_each_use():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.tied = nn.Embedding(5, 3, padding_idx=0), nn.Linear(3, 3)

        def forward(self, x):
            return self.tied(torch.tanh(self.tied(self.words(x)))).sum(1)[:, :2]

    net, x = seeded(Tied), torch.tensor([[1, 2, 1], [4, 0, 2]])
    _, _, gradients, _ = by_autograd(net, x, Y[:2], both)
    found = backprop(net, x, Y[:2], "half-square")
    assert [step.name for step in found.steps if step.kind == "Linear"] == ["tied[1]", "tied[2]"]
    for name, truth in gradients.items():
        np.testing.assert_allclose(found.gradients[name], truth, atol=1e-12)


def test_an_unknown_layer_is_a_box_and_a_subclass_with_its_own_forward_too():
    class Twice(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    class Same(nn.Linear):
        pass

    net = seeded(lambda: nn.Sequential(Twice(3, 3), Same(3, 3), Own(3), nn.Linear(3, 2)))
    found = backprop(net, X, Y, "half-square")
    assert [step.known for step in found.steps] == [True, False, True, False, True]
    assert found.step("2").backward == "δ_x = (∂f/∂x)ᵀ δ"
    agrees(found, net, X, Y, both)


def test_a_net_without_parts_is_followed_operation_by_operation():
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.w1, self.w2 = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(4, 2))

        def forward(self, x):
            return torch.sigmoid(x @ self.w1) @ self.w2

    net = seeded(Plain)
    found = backprop(net, X, Y, "half-square")
    assert [step.name for step in found.steps] == ["input", "@[1]", "sigmoid", "@[2]"] and found.steps[1].known
    np.testing.assert_allclose(found.gradient["w1"], central(net, X, Y, both)["w1"], atol=1e-9)


def test_a_classifier_is_explained_with_its_own_loss_weights_and_mean():
    x, labels = np.random.default_rng(0).normal(size=(6, 3)), np.array(["a", "b", "c"] * 2)
    weights = {"a": 1.0, "b": 5.0, "c": 0.5}
    model = MLPClassifier(hidden=(4,), epochs=1, class_weight=weights, dtype="float64", random_state=0).fit(x, labels)
    found, flow = backprop(model, x, labels, lr=0.1), explain.gradient_flow(model, x, labels)
    np.testing.assert_allclose([np.linalg.norm(g) for g in found.gradient.values()], flow.norm, rtol=1e-9)
    np.testing.assert_allclose(found.loss, flow.losses["loss"], rtol=1e-12)
    assert found.loss_after < found.loss and not found.warning and found.words[1] == "δ = softmax(f) - e_y"
    assert "backprop" in explain.available(model) and explain.run("backprop", model, x, labels).losses.shape == (6,)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (nn.MSELoss(reduction="none"), "δ = 2 (f - y)"),
        (nn.L1Loss(reduction="none"), "δ = sign(f - y)"),
        (nn.BCEWithLogitsLoss(reduction="none"), "δ = σ(f) - y"),
        (Bernoulli(), "δ = σ(f) - y"),
        ("gaussian", "δ = (f - y) / s²"),
        (nn.HuberLoss(reduction="none"), "δ = ∂ℓ/∂raw"),
        (LearnedGaussian(2), "δ = ∂ℓ/∂raw"),
    ],
)
def test_losses_start_with_their_own_slope(loss, words):
    net, y = seeded(lambda: nn.Linear(3, 2)), (Y > 0).double()
    found = backprop(net, X, y, loss)
    each = loss.nll if hasattr(loss, "nll") else Gaussian().nll if loss == "gaussian" else loss
    raw = net(X).detach().requires_grad_()
    value = each(raw, y)
    np.testing.assert_allclose(found.losses, (value.sum(1) if value.ndim > 1 else value).detach(), rtol=1e-6)
    np.testing.assert_allclose(found.steps[-1].delta, torch.autograd.grad(value.sum(), raw)[0], rtol=1e-6)
    assert found.words[1] == words and found.latex().isascii()


def test_classes_along_the_last_axis_or_the_second():
    net = seeded(lambda: nn.Linear(3, 3))
    x, y = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 3, 3))), torch.tensor([[0, 1, 2], [2, 2, 0]])
    for loss in (Categorical(), nn.CrossEntropyLoss(reduction="none")):
        raw = net(x).detach().requires_grad_()
        each = loss.nll(raw, y) if hasattr(loss, "nll") else loss(raw, y)
        found = backprop(net, x, y, loss)
        np.testing.assert_allclose(found.steps[-1].delta, torch.autograd.grad(each.sum(), raw)[0], atol=1e-12)
        np.testing.assert_allclose(found.shares, 1 / 6)  # six places count, three in each row


def test_a_wrong_backward_of_the_users_own_is_noticed():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z.tanh()

        @staticmethod
        def backward(ctx, g):
            return g

    class Layer(nn.Module):
        def forward(self, z):
            return Wrong.apply(z)

    net = seeded(lambda: nn.Sequential(nn.Linear(3, 2), Layer()))
    assert "not the gradient of this loss" in backprop(net, X, Y, "half-square").warning
