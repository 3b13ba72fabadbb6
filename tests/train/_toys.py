"""Six toys that try the contracts of training from six sides, and what the tests of this room share.

| toy | what it asks of the contract |
|---|---|
| Bilinear | two players; from the same θ, or one after the other |
| WGAN | `turn`: five updates of the critic for one of the generator; `after` clips |
| RBM | `once`: the fantasy term; chains as a buffer that `after` advances |
| TargetNet | a buffer that follows θ slowly |
| Distillation | a teacher in `constants` |
| KMeans | a process without gradients |
"""

import hashlib
import itertools

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ftheta.data import Rows
from ftheta.train import Callback, Loss, Objective, Player, Trainer, iterate


class Bilinear(Objective):
    """min over x, max over y of x·y: around its saddle gradient play turns in circles."""

    def __init__(self, simultaneous, start=(1.0, 0.5)):
        super().__init__()
        self.simultaneous = simultaneous
        self.x, self.y = (nn.Parameter(torch.tensor(v, dtype=torch.float64)) for v in start)

    def players(self):
        return Player("x", [self.x]), Player("y", [self.y])

    def loss(self, player, batch, draw):
        value = self.x * self.y
        return Loss(value if player == "x" else -value, 1.0)


class WGAN(Objective):
    """min over g, max over f with bounded weights of E f(x) - E f(g(z)); data are numbers."""

    n_critic, bound = 5, 0.3

    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        self.generator = nn.Linear(1, 1)

    def players(self):
        generator = Player("generator", list(self.generator.parameters()), {"lr": 0.05})
        return Player("critic", list(self.critic.parameters())), generator

    def turn(self, step):
        return ("generator",) if step % (self.n_critic + 1) == self.n_critic else ("critic",)

    def loss(self, player, batch, draw):
        fake = self.critic(self.generator(torch.randn(batch.n, 1, generator=draw.generator("latent"))))[:, 0]
        return Loss(*batch.sum(-fake if player == "generator" else fake - self.critic(batch.x)[:, 0]))

    def after(self, player, batch, draw):
        for p in self.critic.parameters():
            p.clamp_(-self.bound, self.bound)


class RBM(Objective):
    """Free energy of the data minus that of fantasy particles, whose Gibbs chains never start anew.

    E(v, h) = -v·b - h·c - h·Wv,   F(v) = -log Σ_h exp(-E(v, h)) = -v·b - Σ_j softplus(c + Wv)_j
    """

    def __init__(self, visible=4, hidden=3, chains=8):
        super().__init__()
        self.W = nn.Parameter(0.5 * torch.randn(hidden, visible, dtype=torch.float64))
        self.b, self.c = (nn.Parameter(torch.zeros(n, dtype=torch.float64)) for n in (visible, hidden))
        self.register_buffer("chains", torch.zeros(chains, visible, dtype=torch.float64))
        self.register_buffer("share", torch.full((chains,), 1 / chains, dtype=torch.float64))

    def free_energy(self, v):
        return -v @ self.b - F.softplus(self.c + v @ self.W.T).sum(-1)

    def loss(self, player, batch, draw):
        total, weight = batch.sum(self.free_energy(batch.x))
        return Loss(total, weight, once=-self.share @ self.free_energy(self.chains))

    def after(self, player, batch, draw):
        g = draw.generator("gibbs")
        h = torch.bernoulli(torch.sigmoid(self.c + self.chains @ self.W.T), generator=g)
        self.chains.copy_(torch.bernoulli(torch.sigmoid(self.b + h @ self.W), generator=g))


def binary(n):
    """All states of n bits: (2^n, n)."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)), dtype=torch.float64)


def exact_log_prob(rbm, v):
    """log p(v) by summing over all 2^4 · 2^3 joint states."""
    states, hidden = binary(rbm.b.numel()), binary(rbm.c.numel())

    def minus_energy(v):
        return (v @ rbm.b)[:, None] + hidden @ rbm.c + v @ rbm.W.T @ hidden.T  # (n, 2^3)

    return minus_energy(v).logsumexp(1) - minus_energy(states).flatten().logsumexp(0)


class TargetNet(Objective):
    """Half of (θ - (1 + γ θ̄))², with θ̄ <- θ̄ + τ (θ - θ̄): value iteration with a slow target, fixed at 1 / (1 - γ)."""

    gamma, tau = 0.5, 0.1

    def __init__(self):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.register_buffer("target", torch.tensor(4.0, dtype=torch.float64))

    def loss(self, player, batch, draw):
        return Loss((self.theta - 1 - self.gamma * self.target) ** 2 / 2, 1.0)

    def after(self, player, batch, draw):
        self.target.lerp_(self.theta, self.tau)


class Distillation(Objective):
    """Cross entropy of a student with the answers of its teacher, who has batch norm and dropout to give him away."""

    constants = ("teacher",)

    def __init__(self):
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 4))
        self.student = nn.Linear(3, 4)

    def loss(self, player, batch, draw):
        wanted = self.teacher(batch.x).softmax(-1)
        return Loss(*batch.sum(F.cross_entropy(self.student(batch.x), wanted, reduction="none")))


class KMeans:
    """Lloyd's algorithm: assign, then average; one step is one round."""

    def __init__(self, x, start):
        self.x, self.centres, self.rounds = x, start.clone(), 0

    def advance(self):
        distance = (self.x[:, None] - self.centres).square().sum(-1)  # (n, K)
        nearest = F.one_hot(distance.argmin(1), len(self.centres)).to(self.x.dtype)
        old, self.centres = self.centres, nearest.T @ self.x / nearest.sum(0)[:, None]
        self.rounds += 1
        return {"inertia": float(distance.amin(1).sum()), "moved": float((old - self.centres).abs().max())}

    def state_dict(self):
        return {"centres": self.centres, "rounds": self.rounds}

    def load_state_dict(self, tree):
        self.centres, self.rounds = tree["centres"], tree["rounds"]


class Settled(Callback):
    """Stops when the centres stand still."""

    def on_row(self, ctx, row):
        if row["moved"] == 0:
            ctx.stop("settled")


def blobs(n=60, centres=3, seed=0):
    """Rows around a few centres, and the first rows as a start."""
    g = torch.Generator().manual_seed(seed)
    where = 4 * torch.randn(centres, 2, generator=g, dtype=torch.float64)
    x = where.repeat(n // centres, 1) + torch.randn(n, 2, generator=g, dtype=torch.float64)
    return x, x[:centres].clone()


def line(n=24, features=3, seed=0, dtype=torch.float64):
    """Inputs and a noisy linear target: (n, D), (n,)."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, features, generator=g, dtype=torch.float64)
    y = x @ torch.arange(1.0, features + 1, dtype=torch.float64) + torch.randn(n, generator=g, dtype=torch.float64)
    return x.to(dtype), y.to(dtype)


def square(raw, y):
    """Squared error of each row."""
    return (raw[:, 0] - y) ** 2


def one_row():
    """A source for objectives that need no data: one batch an epoch."""
    return Rows(torch.zeros(1, 1), batch_size=1)


def seeded(make, *args, seed=0, **options):
    """make(...) with torch's global generator seeded, and put back afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(*args, **options)


def train(objective, source=None, *, rounds=np.inf, steps=np.inf, callbacks=(), **options):
    """Train for so many rounds or steps; returns trainer and history."""
    trainer = Trainer(objective, one_row() if source is None else source, **options)
    return trainer, iterate(trainer, rounds=rounds, steps=steps, callbacks=callbacks)


def timeless(tree):
    """The tree without the seconds that something took."""
    if isinstance(tree, dict):
        return {k: timeless(v) for k, v in tree.items() if k != "seconds"}
    if isinstance(tree, list | tuple):
        return [timeless(v) for v in tree] if isinstance(tree, list) else tuple(timeless(v) for v in tree)
    return tree


def same(a, b):
    """Whether two trees are equal bit for bit, types included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def digest(tree):
    """SHA-256 of a tree without its seconds."""
    found = hashlib.sha256()

    def add(x):
        if isinstance(x, dict):
            for key in sorted(x):
                found.update(repr(key).encode())
                add(x[key])
        elif isinstance(x, list | tuple):
            found.update(f"{type(x).__name__}{len(x)}".encode())
            for value in x:
                add(value)
        elif isinstance(x, torch.Tensor | np.ndarray):
            array = np.ascontiguousarray(x)
            found.update(repr((array.dtype.str, array.shape)).encode() + array.tobytes())
        else:
            found.update(repr(x).encode())

    add(timeless(tree))
    return found.hexdigest()
