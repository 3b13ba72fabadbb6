"""The pieces of an exported script that say the net, its likelihood, its answers and how a linear one is trained.

What is between << and >> is filled in for a run (see `_export`).
"""

from __future__ import annotations

__all__ = [
    "CENTRE",
    "CLASSES",
    "DENSITIES",
    "DENSITY",
    "INTERVALS",
    "LEAST_SQUARES",
    "LEAST_SQUARES_THROUGH_0",
    "LINEAR",
    "NET",
    "NEWTON",
    "NUMBERS",
    "POISSON",
]

NET = '''

# ---- the net


<<net>>

def load():
    """The trained net."""
    net = Net().to(DTYPE)
    net.load_state_dict(load_file(HERE / "model.safetensors"))
    return net.eval()
'''

DENSITY = '''

# ---- the likelihood: what the outputs of the net say of y


def density(net, x):
    """<<says>>"""
    raw = net(x)
<<lines>>
'''

DENSITIES = {
    "Bernoulli": (
        "p(y | x): y is 1, the second class, with probability 1 / (1 + exp(-raw)).",
        ["return torch.distributions.Bernoulli(logits=raw[:, 0])"],
    ),
    "Categorical": (
        "p(y | x): y is class k with probability exp(raw_k) / Σ_j exp(raw_j).",
        ["return torch.distributions.Categorical(logits=raw)"],
    ),
    "Gaussian": (
        "p(y | x) of y, standardised: a Gaussian of fixed width, so that training is least squares.",
        ["return torch.distributions.Normal(raw[:, 0], 1.0)"],
    ),
    "LearnedGaussian": (
        "p(y | x) of y, standardised: a Gaussian whose variance is learned, and at least 1e-6.",
        [
            "log_variance = torch.logaddexp(net.log_var, torch.tensor(math.log(1e-6), dtype=DTYPE))",
            "return torch.distributions.Normal(raw[:, 0], (log_variance / 2).exp())",
        ],
    ),
    "HeteroscedasticGaussian": (
        "p(y | x) of y, standardised: a Gaussian whose variance depends on x, and is at least 1e-6.",
        [
            "variance = F.softplus(raw[:, 1], threshold=40) + 1e-6",
            "return torch.distributions.Normal(raw[:, 0], variance.sqrt())",
        ],
    ),
    "Laplace": (
        "p(y | x) of y, standardised: a Laplace density of fixed width, so that training is least absolute deviations.",
        ["return torch.distributions.Laplace(raw[:, 0], 1.0)"],
    ),
    "Poisson": (
        "p(y | x) of a count y: Poisson, of rate log(1 + exp(raw)).",
        ["rate = F.softplus(raw[:, 0], threshold=40)", "return torch.distributions.Poisson(rate.clamp(min=1e-37))"],
    ),
}
"""Likelihoods by class: what they say, and the lines that say it."""

CLASSES = '''

def predict(rows):
    """The most probable class of each row, and the probability of every class."""
    with torch.no_grad():
        raw = density(load(), encode(rows)).logits.double()
    p = <<probabilities>>  # (n, K)
    answers = pd.DataFrame({"prediction": [CLASSES[k] for k in p.argmax(1).tolist()]})
    return pd.concat([answers, pd.DataFrame(p.numpy(), columns=[f"p({name})" for name in CLASSES])], axis=1)


def encode_target(y):
    """Names of classes, as CLASSES spells them, as their numbers: (n,)."""
    known = {name: k for k, name in enumerate(CLASSES)}
    return torch.tensor([known[str(label)] for label in y], dtype=<<type>>)
'''

NUMBERS = '''

def predict(rows):
    """The number that is predicted for each row<<also>>."""
    with torch.no_grad():
        found = density(load(), encode(rows))
<<interval>>    return pd.DataFrame({<<columns>>})


def in_units(z):
    """What the net says, in the units of y."""
    return (z.double() * Y_SCALE + Y_MEAN).to(DTYPE).numpy()


def encode_target(y):
    """Numbers, standardised as the net sees them: (n,)."""
    return torch.tensor((np.asarray(y, dtype=float) - Y_MEAN) / Y_SCALE, dtype=DTYPE)
'''

INTERVALS = {
    "own": """    low, high = (in_units(found.icdf(torch.tensor(q, dtype=DTYPE))) for q in (0.025, 0.975))
""",
    "poisson": """    low, high = (poisson_quantile(found.rate, q) for q in (0.025, 0.975))
""",
    "spread": """    middle = in_units(found.mean)
    low, high = middle - HALF_WIDTH, middle + HALF_WIDTH
""",
    "none": "",
}
"""How the ends of an interval that holds 95 of 100 are found."""

POISSON = '''

def poisson_quantile(rate, q):
    """The smallest k with P(y <= k) >= q, by bisection: (n,)."""
    rate, q = rate.double(), torch.tensor(q, dtype=DTYPE).double()
    low, high = torch.full_like(rate, -1), (rate + 10 * rate.sqrt() + 20).ceil()
    while (high - low > 1).any():
        k = ((low + high) / 2).floor()
        enough = torch.special.gammaincc(k + 1, rate) >= q  # P(y <= k)
        low, high = torch.where(enough, low, k), torch.where(enough, k, high)
    return high.to(DTYPE).numpy()
'''

# ---- linear models

LINEAR = '''class Net(nn.Module):
    """raw = W x + b: x (B, <<inputs>>), raw (B, <<outputs>>)."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(<<inputs>>, <<outputs>>)

    def forward(self, x):
        return self.linear(x)


def filled(weight, bias):
    """A net with these weights."""
    net = Net().to(DTYPE)
    net.load_state_dict({"linear.weight": weight, "linear.bias": bias})
    return net.eval()
'''

LEAST_SQUARES = '''def train(rows, y):
    """Least squares in closed form; the shortest solution where there are several."""
    x, target = encode(rows), encode_target(y)[:, None]
    x_mean, y_mean = x.mean(0), target.mean(0)
    centred = x - x_mean
    centred[:, centred.abs().amax(0) <= 1e-12 * x.abs().amax(0)] = 0.0  # columns that are constant
    w = torch.linalg.lstsq(centred, target - y_mean, driver="gelsd").solution
    return filled(w.T, y_mean - x_mean @ w)
'''

LEAST_SQUARES_THROUGH_0 = '''def train(rows, y):
    """Least squares without an intercept, in closed form; the shortest solution where there are several."""
    w = torch.linalg.lstsq(encode(rows), encode_target(y)[:, None], driver="gelsd").solution
    return filled(w.T, torch.zeros(1, dtype=DTYPE))
'''

NEWTON = '''def train(rows, y, steps=<<steps>>, tolerance=<<tolerance>>):
    """Newton's method: θ <- θ - H⁻¹ g, the step halved until the loss falls. θ holds W and, in its last column, b."""
    x, target = encode(rows), encode_target(y)
    weight = <<weight>>
    weight = weight / weight.sum()  # of the rows
    x = torch.cat([x, torch.ones_like(x[:, :1])], 1)  # (n, D + 1)
    ridge = torch.full_like(x[0], 2 * <<l2>>)  # loss = Σ weight (-log p) + l2 Σ W²
    ridge[-1] = 0.0

    def loss(theta):
        raw = x @ theta.T
        log_p = torch.distributions.<<law>>.log_prob(target)
        return -(weight * log_p).sum() + (ridge * theta.square()).sum() / 2

    theta = torch.zeros(<<outputs>>, x.shape[1], dtype=DTYPE)  # (R, D + 1)
    for _ in range(steps):
        g = torch.func.grad(loss)(theta)
        if g.abs().max() <= tolerance:
            break
        p = <<p>>  # (n, R)
        bend = p.diag_embed() - p[:, :, None] * p[:, None, :]  # (n, R, R): how -log p bends in raw
        h = torch.einsum("n,nrs,nd,ne->rdse", weight, bend, x, x).reshape(g.numel(), -1)
        h = h + ridge.repeat(len(theta)).diag()
        move = torch.linalg.lstsq(h, g.flatten(), driver="gelsd").solution.reshape(g.shape)
        while loss(theta - move) > loss(theta) and move.abs().max() > 1e-15:
            move = move / 2
        theta = theta - move
<<centre>>    return filled(theta[:, :-1], theta[:, -1])
'''

CENTRE = """    theta = theta - theta.mean(0)  # a constant added to all classes changes nothing
"""
