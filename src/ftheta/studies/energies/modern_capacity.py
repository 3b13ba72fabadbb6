"""How many patterns does a sharper energy store, and how does it tell near-duplicates apart?

Question: of P random patterns of N = 32 signs, how many come back exactly after 3 flipped signs, with F(z) = z², z³, z⁴
and exp z in E = - Σ F(ξ·x)? How does the number that is stored grow with N? Are ten digits stored that Hebb's rule
loses? And does one step of the continuous network find a vector behind noise?

    P½: the number of random patterns of which half are stable         α_n = P½ ln N / N^(n-1),    rate = log₂(P½) / N
    digits: the s-th of each class, grey > ½; each pixel flipped with probability p        found: |x' - ξ| < 0.1

z³ is odd, so a pattern's opposite pushes as much as a pattern pulls; max(z, 0)³ is measured beside it.
Shapes: S seeds, F 5 interactions, K 5 numbers of patterns, L sizes, 3 sharpnesses, T + 1 energies.

References: Krotov and Hopfield, arXiv:1606.01164 (2016); Demircigil et al., arXiv:1702.01929 (2017); Ramsauer et al.,
arXiv:2008.02217 (2020).
Needs the data set mnist (`ftheta data get mnist`). Cost: about 4 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...data import load as load_data
from ...draw import Draw
from ...formulas import continuous_energy, continuous_update, dense_capacity, dense_update, hebb
from ...models import ModernHopfield
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B276": "corrected", "B278": "confirmed", "B279": "confirmed"}
UNITS, FLIPPED = 32, 3
KINDS = (("polynomial", 2), ("polynomial", 3), ("rectified", 3), ("polynomial", 4), ("exponential", 3))
NAMES = ("z²", "z³", "max(z, 0)³", "z⁴", "exp z")
PATTERNS = (4, 16, 64, 256, 1024)
PRINTED = np.array(
    [[1, 0.02, 0, 0, 0], [1, 1, 0.95, 0.03, 0], [1, 1, 0.95, 0.03, 0], [1, 1, 0.98, 0.62, 0], [1, 1, 1, 1, 1]]
)  # that of z³ also in the line of max(z, 0)³
FLIPS = (0.1, 0.2, 0.3, 0.4, 0.5)
DIGITS = (1.0, 1.0, 1.0, 0.94, 0.06)
BETAS, FOUND, NEAR = (1.0, 8.0, 50.0), (0.0, 0.48, 0.98), 0.1
FALLS = (5.183, 0.536, 0.506, 0.493)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: Name of the digits.
        cues: Of each set of random patterns, of each digit at each noise, and ten times as many of the unit vectors.
        sizes: Units of the networks whose capacity is measured, of powers.
        small: The same of exp.
        full: Patterns of the last test of exp with 32 units.
        seeds: Draws of everything; of digits the first, second, ... of each class.
    """

    data: str = "mnist"
    cues: int = 100
    sizes: tuple[int, ...] = (16, 32, 64, 128)
    small: tuple[int, ...] = (8, 12, 16, 20)
    full: int = 65536
    seeds: int = 20


TINY = Config(data="digits", cues=4, sizes=(8, 12), small=(6, 8), full=64, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Shares recalled (S, F, K), P½ of powers (S, F - 1, L) and of exp (S, L), digits, and the continuous network."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    made = {key: np.array([one[key] for one in found]) for key in found[0]}
    return made | {"sizes": list(config.sizes), "small": list(config.small), "full": config.full}


def _seed(config: Config, seed: int) -> Evidence:
    draw, cues = Draw(seed), config.cues
    half = [[_half(draw, kind, n, cues) for n in config.sizes] for kind in KINDS[:-1]]
    return {
        "recalled": np.array([[_recalled(draw, kind, p, cues) for p in PATTERNS] for kind in KINDS]),
        "filled": _recalled(draw, KINDS[-1], config.full, cues),
        "kept": _stable(_signs(draw, config.full, UNITS), KINDS[-1], cues),
        "half": np.array(half),
        "half_exp": np.array([_half(draw, KINDS[-1], n, cues) for n in config.small]),
        **_digits(config, seed),
        **_vectors(draw, 10 * cues),
    }


def _signs(draw: Draw, p: int, n: int) -> np.ndarray:
    return np.random.default_rng(draw.at("patterns", p, n).key()).choice([-1.0, 1.0], (p, n))


def _recalled(draw: Draw, kind: tuple[str, int], p: int, cues: int) -> float:
    """Share of cues with 3 signs flipped that end exactly in their pattern; the same sets for every interaction."""
    patterns, rng = _signs(draw, p, UNITS), np.random.default_rng(draw.at("cues", p).key())
    right = patterns[rng.integers(p, size=cues)]
    hit = rng.random(right.shape).argsort(1) < FLIPPED
    return float((_settled(np.where(hit, -right, right), patterns, kind, rng) == right).all(1).mean())


def _settled(
    x: np.ndarray, patterns: np.ndarray, kind: tuple[str, int], rng: np.random.Generator, sweeps: int = 50
) -> np.ndarray:
    for _ in range(sweeps):
        before, x = x, dense_update(x, patterns, rng.permutation(x.shape[1]), *kind)
        if np.array_equal(before, x):
            break
    return x


def _stable(patterns: np.ndarray, kind: tuple[str, int], most: int) -> float:
    some = patterns[:most]
    return float((dense_update(some, patterns, None, *kind) == some).all(1).mean())


def _half(draw: Draw, kind: tuple[str, int], n: int, cues: int) -> float:
    """P½: P is doubled until less than half of some patterns are stable, then interpolated in log P."""
    last, p = 1.0, 2
    while True:
        share = _stable(_signs(draw, p, n), kind, cues)
        if share < 0.5:
            return p / 2 * 2 ** ((last - 0.5) / (last - share))
        last, p = share, 2 * p


def _digits(config: Config, seed: int) -> Evidence:
    """Overlap of ten digits, how many Hebb's rule and exp store, and the share of cues that come back by noise."""
    data = load_data(config.data)
    y = np.asarray(data.y)
    rows = [np.flatnonzero(y == label)[seed] for label in np.unique(y)]
    grey = np.asarray(data.x)[rows].reshape(len(rows), -1)
    digits = np.where(grey > grey.max() / 2, 1.0, -1.0)  # (10, N)
    net = ModernHopfield(random_state=seed).fit(digits)
    cues = np.repeat(digits, config.cues, 0)
    back = [float((net.recall(cues, noise=p) == cues).all(1).mean()) for p in FLIPS]
    overlap = (digits @ digits.T / digits.shape[1])[np.triu_indices(10, 1)].mean()
    stored = (digits * (digits @ hebb(digits)) > 0).all(1).sum(), net.stable().sum()
    return {"overlap": float(overlap), "stored": np.array(stored, dtype=float), "digits": np.array(back)}


def _vectors(draw: Draw, cues: int) -> Evidence:
    """Share of 50 unit vectors in 16-D that one step finds behind noise 0.15, and energies from a far start."""
    rng = np.random.default_rng(draw.at("vectors").key())
    stored = rng.standard_normal((50, 16))
    stored /= np.linalg.norm(stored, axis=1, keepdims=True)
    right = stored[rng.integers(50, size=cues)]
    query = right + 0.15 * rng.standard_normal(right.shape)
    far = [np.linalg.norm(continuous_update(query, stored, beta) - right, axis=1) for beta in BETAS]
    x, energies = rng.standard_normal((1, 16)), []
    for _ in range(6):
        energies.append(continuous_energy(x, stored, BETAS[1])[0])
        x = continuous_update(x, stored, BETAS[1])
    return {"found": np.array([(d < NEAR).mean() for d in far]), "energies": np.array(energies)}


# ---- verdicts


def judge(evidence: Evidence) -> list[Finding]:
    """B276: shares and capacities. B278: digits. B279: one step, and energies that fall."""
    return [_dense(evidence), _correlated(evidence), _continuous(evidence)]


def _near(values: np.ndarray, printed: np.ndarray, slack: float = 0.02) -> np.ndarray:
    """Whether what is printed, which is of one draw, lies within two standard deviations of the seeds, and slack."""
    return np.abs(values.mean(0) - printed) <= slack + 2 * values.std(0, ddof=1)


def _dense(evidence: Evidence) -> Finding:
    shares = evidence["recalled"]  # (S, F, K)
    near = _near(shares, PRINTED)
    squared, cubed, rectified, fourth, exp = (bool(line.all()) for line in near)
    alpha, rate = _factors(evidence)
    apart = float(np.exp(np.ptp(np.log(alpha.mean(0)), axis=1)).max())  # 1 if P½ grows just as the formula
    verdict: Verdict = "not reproduced"
    if squared and fourth and exp and apart < 2 and (rate > 0.5).all() and (cubed or rectified):
        verdict = "confirmed" if cubed else "corrected"
    use, sizes = [0, 1, 3, 4], evidence["sizes"]
    why = (
        f"{int(near[use].sum())} of 20 shares are as printed. Of 64 patterns z³ recalls {give(shares[:, 1, 2])}; the "
        f"printed {PRINTED[1, 2]} is that of max(z, 0)³, {give(shares[:, 2, 2])}. From N = {sizes[0]} to {sizes[-1]} "
        f"α_n changes by a factor of {apart:.1f} at most. exp stores 2^(rN) with r from {rate.min():.2f}, more than "
        f"2^(N/2): of {evidence['full']:,} patterns in 32 units {give(evidence['kept'])} are stable, and "
        f"{give(evidence['filled'])} come back after 3 flips."
    )
    measured, spread = shares.mean(0)[use].ravel().tolist(), shares.std(0, ddof=1)[use].ravel().tolist()
    return Finding("B276", PRINTED[use].ravel().tolist(), measured, spread, verdict, why)


def _factors(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """α of the powers (S, F - 1, L), and the rate of exp (S, L)."""
    n, order = np.array(evidence["sizes"], dtype=float), np.array([order for _, order in KINDS[:-1]])
    alpha = evidence["half"] * np.log(n) / n ** (order[:, None] - 1)
    return alpha, np.log2(evidence["half_exp"]) / np.array(evidence["small"])


def _correlated(evidence: Evidence) -> Finding:
    hebb_stores, modern = evidence["stored"].T
    back = evidence["digits"]  # (S, 5)
    stored = hebb_stores.max() == 0 and (modern == 10).all()
    as_printed = _near(back[:, :4], np.array(DIGITS[:4])).all() and back[:, 4].mean() < 0.2
    verdict: Verdict = "confirmed" if stored and as_printed else "not reproduced"
    if (modern < 10).any() or hebb_stores.min() == 10:
        verdict = "refuted"
    why = (
        f"Ten digits with a mean overlap of {give(evidence['overlap'])}: Hebb's rule stores "
        f"{give(hebb_stores, '.1f')}, exp {give(modern, '.1f')}. Seeds are other digits of each class. With half of "
        "the pixels flipped a cue holds nothing of its digit, and one in ten is met by chance."
    )
    return Finding("B278", list(DIGITS), back.mean(0).tolist(), back.std(0, ddof=1).tolist(), verdict, why)


def _continuous(evidence: Evidence) -> Finding:
    found, energies = evidence["found"], evidence["energies"]
    falls = bool((np.diff(energies, axis=1) <= 1e-12).all())
    near = bool(_near(found, np.array(FOUND)).all())
    verdict: Verdict = "confirmed" if falls and near else "refuted" if not falls else "not reproduced"
    first = ", ".join(f"{e:.3f}" for e in energies.mean(0)[:4])
    why = (
        f"Found is a distance below {NEAR}, after one step. From a normal start energies at β = 8 fall in every seed, "
        f"in the mean {first}; printed is one start: {', '.join(map(str, FALLS))}. It is the update that is attention; "
        "the energy is a log-sum-exp and a quadratic term."
    )
    return Finding("B279", list(FOUND), found.mean(0).tolist(), found.std(0, ddof=1).tolist(), verdict, why)


# ---- shown


def tables(evidence: Evidence) -> dict[str, Table]:
    """Shares recalled, and capacities beside the formula."""
    shares, cells = evidence["recalled"], [(f, k) for f in range(len(KINDS)) for k in range(len(PATTERNS))]
    recalled = {
        "F": [NAMES[f] for f, _ in cells],
        "patterns": [PATTERNS[k] for _, k in cells],
        "recalled exactly": [give(shares[:, f, k]) for f, k in cells],
        "printed": ["" if f == 2 else f"{PRINTED[f, k]:.2f}" for f, k in cells],
    }
    sizes = [(f, n) for f in range(len(KINDS) - 1) for n in range(len(evidence["sizes"]))]
    small = range(len(evidence["small"]))
    capacity = {
        "F": [NAMES[f] for f, _ in sizes] + [NAMES[-1] for _ in small],
        "units": [evidence["sizes"][n] for _, n in sizes] + list(evidence["small"]),
        "half are stable at": [give(evidence["half"][:, f, n], ".1f") for f, n in sizes]
        + [give(evidence["half_exp"][:, n], ".0f") for n in small],
        "formula": [dense_capacity(evidence["sizes"][n], *KINDS[f]) for f, n in sizes]
        + [dense_capacity(n) for n in evidence["small"]],
    }
    said = "Mean ± standard deviation over seeds"
    return {"recalled": Table(recalled, said), "capacity": Table(capacity, f"{said}; the formula allows no error.")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Shares recalled by number of patterns, capacity by units, digits by noise, and falling energies."""
    shares = 100 * evidence["recalled"].mean(0)
    x = "log₂ of the number of patterns"
    recalled: Any = {x: np.log2(PATTERNS), **{f"F = {name}": row for name, row in zip(NAMES, shares, strict=True)}}
    n = "number of units N"
    at = sorted({*evidence["sizes"], *evidence["small"]})
    halves = [*zip(NAMES[:-1], evidence["half"].mean(0), strict=True), (NAMES[-1], evidence["half_exp"].mean(0))]
    stored: Any = {n: np.array(at, dtype=float)}
    for name, values in halves:
        known = dict(zip(evidence["small" if name == NAMES[-1] else "sizes"], values, strict=True))
        stored[f"F = {name}"] = np.array([known.get(size, np.nan) for size in at])
    flips, share = "pixels flipped (%)", "recalled exactly (% of cues)"
    noise: Any = {flips: 100 * np.array(FLIPS), "exp z": 100 * evidence["digits"].mean(0)}
    falls: Any = {"step": np.arange(evidence["energies"].shape[1]), **_starts(evidence["energies"])}
    show = plots.curves
    return {
        "recalled": show(recalled, x=x, label=share, title="32 units, 3 flipped"),
        "capacity": show(stored, x=n, label="patterns of which half are stable", title="Capacity of dense memories"),
        "digits": show(noise, x=flips, label=share, title="Ten digits that Hebb's rule loses"),
        "energies": show(falls, x="step", label="energy, β = 8", title="The continuous network"),
    }


def _starts(energies: np.ndarray) -> dict[str, np.ndarray]:
    return {f"start {s}": row for s, row in enumerate(energies[:4])}
