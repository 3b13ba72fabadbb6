"""Saliency: which pixels support an output, and whether the map depends on the weights.

    gradient      ∂s(x)/∂x
    integrated    (x - b) ∫₀¹ ∂s/∂x (b + t (x - b)) dt        sums to s(x) - s(b): completeness
    smoothgrad    mean of ∂s/∂x (x + ε),  ε ~ N(0, σ²) in pairs ±ε, σ = 15 % of the range of x
    gradcam       ReLU(Σ_k a_k A_k),  a_k = mean over places of ∂s/∂A_k, A_k the maps of a layer; scaled up to x
    occlusion     s(x) - s(x with a window set to b), mean over the windows that hold a place
    check         θ_l -> ρ(θ_l) ε,  ε ~ N(0, 1), ρ the root mean square, from the output downwards, one layer per step

s is the raw output of the target, not its probability. A map that stays the same while the weights are randomized does
not depend on what was learned.

Shapes: B rows, C channels, places (L,) or (H, W), K outputs; L steps of the check (layers with weights).
References: Simonyan, Vedaldi and Zisserman (2014); Sundararajan, Taly and Yan (2017); Smilkov et al. (2017); Selvaraju
et al. (2017); Zeiler and Fergus (2014); Adebayo et al., Sanity checks for saliency maps (2018).
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.nn.functional import interpolate

from ... import plots
from ...catalog import nearest
from ...check import Count
from ...errors import InputError, InputTypeError
from ...plots import Figure
from ...results import Result
from .._probe import DRAW, calls, layer_named
from .._registry import Names, explanation
from ._images import Pictures, array, has_convolution, slope

NOISE = 0.15  # standard deviation, in ranges of x
MAX_ROWS, CHECKED_ROWS = 12, 8  # in the table; taken by the check
MAX_STAGES, CHECK_STEPS = 5, 8  # of a check: states that are compared, steps of a path
MAX_WRONG = 6  # most wrong rows
PASSES_BELOW = 0.5  # rank correlation
_STEPS = {"integrated": 32, "smoothgrad": 24}
_NAMES = {"gradient": "the gradient", "integrated": "integrated gradients"}  # in sentences


class _Task(NamedTuple):
    """One part of the rows, and all that a method needs."""

    net: Pictures
    x: Tensor  # (B, C, *places)
    target: Tensor  # (B,)
    baseline: Tensor  # (B, C, *places)
    layer: str | None
    steps: int
    size: int

    def score(self, x: Tensor) -> Tensor:
        """s of each row (B,)."""
        return self.net.scores(x).gather(1, self.target[:, None])[:, 0]

    def gradient(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        return slope(self.score(x).sum(), x)


def _integrated(task: _Task) -> Tensor:
    way, total = task.x - task.baseline, torch.zeros_like(task.x)
    for k in range(task.steps):  # the midpoint rule
        total += task.gradient(task.baseline + (k + 0.5) / task.steps * way)
    return way * total / task.steps


def _smoothgrad(task: _Task) -> Tensor:
    flat = task.x.flatten(1)
    sigma = (NOISE * (flat.amax(1) - flat.amin(1))).reshape(-1, *[1] * (task.x.ndim - 1))
    total, pairs = torch.zeros_like(task.x), -(-task.steps // 2)
    generator = DRAW.generator("smoothgrad")
    for _ in range(pairs):  # the same noise for all rows: a row alone is as it is in a batch
        noise = torch.randn(task.x.shape[1:], generator=generator, dtype=torch.float64).to(task.x)
        total += task.gradient(task.x + sigma * noise) + task.gradient(task.x - sigma * noise)
    return total / (2 * pairs)


def _gradcam(task: _Task) -> Tensor:
    with calls(task.net.module, [str(task.layer)], clone=True) as found:
        score = task.score(task.x.detach().requires_grad_()).sum()
    maps = found[-1].out if found else None  # (B, K, *places of the layer)
    if maps is None or maps.ndim != task.x.ndim:
        shape = None if maps is None else tuple(maps.shape)
        raise InputError(f"gradcam needs a layer of maps, but this one gave {shape}; choose a convolution or pooling.")
    slopes = slope(score, maps)
    weights = slopes.flatten(2).mean(-1).reshape(*slopes.shape[:2], *[1] * (slopes.ndim - 2))
    cam = (weights * maps).sum(1, keepdim=True).relu().detach()
    mode = "linear" if task.x.ndim == 3 else "bilinear"
    return interpolate(cam, task.net.places, mode=mode, align_corners=False)


def _occlusion(task: _Task) -> Tensor:
    """Windows in steps of half their side; the last one ends at the edge."""
    step = max(1, task.size // 2)
    starts = [sorted({*range(0, n - task.size, step), n - task.size}) for n in task.net.places]
    total, count = (torch.zeros_like(task.x[:, :1]) for _ in range(2))
    with torch.no_grad():
        full = task.score(task.x)
        for corner in np.ndindex(*map(len, starts)):
            window = tuple(slice(at[i], at[i] + task.size) for at, i in zip(starts, corner, strict=True))
            hidden = task.x.clone()
            hidden[:, :, *window] = task.baseline[:, :, *window]
            drop = full - task.score(hidden)
            total[:, :, *window] += drop.reshape(-1, *[1] * (total.ndim - 1))
            count[:, :, *window] += 1
    return total / count


METHODS: dict[str, Callable[[_Task], Tensor]] = {
    "gradient": lambda task: task.gradient(task.x),
    "integrated": _integrated,
    "smoothgrad": _smoothgrad,
    "gradcam": _gradcam,
    "occlusion": _occlusion,
}


class Saliency(Result):
    """Maps of images or signals."""

    x: np.ndarray  # the rows as the net sees them (B, C, *places)
    values: np.ndarray  # attribution of each number (B, C, *places); gradcam and occlusion give one for all channels
    method: str
    target: tuple[str, ...]  # name of the explained output of each row
    score: np.ndarray  # s(x) of each row (B,)
    gap: np.ndarray | None = None  # sum of the map less s(x) - s(baseline), for integrated gradients (B,)
    rows: np.ndarray | None = None  # places of the rows in X, where the most wrong ones were chosen (B,)
    truth: tuple[str, ...] = ()  # their classes

    @property
    def maps(self) -> np.ndarray:
        """Sum over the channels (B, *places)."""
        return self.values.sum(1)

    def columns(self) -> dict[str, Any]:
        """One row per row of X: what is explained, and where its map is strongest."""
        maps = self.maps[:MAX_ROWS]
        peaks = [np.unravel_index(np.abs(m).argmax(), m.shape) for m in maps]
        return {
            "row": range(len(maps)) if self.rows is None else self.rows[:MAX_ROWS],
            "true class": self.truth[:MAX_ROWS] or None,
            "target": self.target[:MAX_ROWS],
            "score": self.score[:MAX_ROWS],
            "strongest at": [str(tuple(map(int, peak))) for peak in peaks],
            "sum": None if self.gap is None else maps.reshape(len(maps), -1).sum(1),
            "gap": None if self.gap is None else self.gap[:MAX_ROWS],
        }

    @property
    def caption(self) -> str:
        shape, targets = " x ".join(map(str, self.x.shape[2:])), ", ".join(dict.fromkeys(self.target))
        by = _NAMES.get(self.method, self.method)
        more = f" The first {MAX_ROWS} of {len(self.x)} rows." if len(self.x) > MAX_ROWS else ""
        if self.truth:
            pairs = [f"{t} taken for {k}" for t, k in zip(self.truth, self.target, strict=True) if t != k]
            return f"Saliency by {by} of the most wrong rows: {', '.join(pairs) or 'none is wrong'}."
        return f"Saliency by {by}: rows of {shape} places, outputs explained: {targets}.{more}"

    def figure(self) -> Figure:
        """Images above their maps."""
        titles = [f"for {t}" for t in self.target]
        if self.truth:
            both = zip(self.truth, self.target, strict=True)
            titles = [f"{t}\ntaken for {k}" if t != k else f"{t}\nleast sure" for t, k in both]
        return plots.saliency(self.x, self.maps, titles, label=f"saliency ({self.method})")


@explanation("saliency", when=has_convolution, fresh=True)
def saliency(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    method: str = "integrated",
    target: Any = None,
    layer: str | None = None,
    baseline: Any = 0.0,
    steps: Count | None = None,
    size: Count | None = None,
    classes: Names = None,
) -> Saliency:
    """Which places of an image or signal increase an output, and which decrease it.

    Args:
        X: Rows (B, C, H, W) or (B, C, L).
        y: Their classes (B,): the six most wrong rows are shown; targets of another shape: the first six; None: all.
        method: gradient, integrated, smoothgrad, gradcam or occlusion.
        target: A class, or the number of an output; one for all rows or one per row. None: the largest output,
            of segmented images less its mean over the rows.
        layer: Layer whose maps gradcam weighs; None: the last that gives maps.
        baseline: An image without content (integrated, occlusion): a number, or an array like a row.
        steps: Points of the integral (32), or draws of the noise (24).
        size: Side of the window of occlusion; None: a sixth of the shorter side.

    Example:
        >>> net = torch.nn.Conv1d(1, 1, 3, bias=False)
        >>> saliency(net, [[[1.0, 2.0, 3.0]]]).values.shape
        (1, 1, 3)
    """
    net = Pictures(obj, X)
    with net.open():
        net.x = net.x if y is None or np.ndim(y) == 1 else net.x[:MAX_WRONG]
        scores = _scores(net, net.x)
        rows, own, known = None, [], getattr(obj, "classes_", None)
        if y is not None and known is not None and np.ndim(y) == 1 and len(known) == scores.shape[1]:
            code = torch.as_tensor((np.asarray(y)[:, None] == np.asarray(known)).argmax(1), device=scores.device)
            shares = scores.log_softmax(1).gather(1, code[:, None])[:, 0]
            rows = shares.argsort(stable=True)[:MAX_WRONG]  # whose own class has the lowest share of the outputs
            net.x, scores, own = net.x[rows], scores[rows], code[rows].tolist()
        chosen = net.targets(target, scores if y is None or np.ndim(y) < 2 else scores - scores.mean(0))
        values = attributions(net, method, chosen, layer, baseline, steps, size)
        empty = _scores(net, _baseline(baseline, net.x)) if method == "integrated" else scores
    score, start = (found.gather(1, chosen[:, None])[:, 0] for found in (scores, empty))
    gap = array(values.flatten(1).sum(1) - score + start) if method == "integrated" else None
    names = net.names(scores.shape[1]) if classes is None or len(classes) != scores.shape[1] else list(classes)
    targets, truth = (tuple(names[k] for k in found) for found in (chosen.tolist(), own))
    places = None if rows is None else array(rows)
    return Saliency(array(net.x), array(values), method, targets, array(score), gap, places, truth)


def attributions(
    net: Pictures,
    method: str,
    target: Tensor,
    layer: Any = None,
    baseline: Any = 0.0,
    steps: Any = None,
    size: Any = None,
) -> Tensor:
    """Values of a method for outputs `target` (B,), in parts; within `net.open()`."""
    if method not in METHODS:
        raise InputError(nearest("method", method, METHODS))
    steps = _STEPS.get(method, 1) if steps is None else steps
    size = max(1, round(min(net.places) / 6)) if size is None else size
    if size > min(net.places):
        raise InputError(f"size={size}; the window must fit into {net.places}.")
    if layer is not None:
        layer_named(net.module, layer)
    elif method == "gradcam":
        layer = _last_maps(net)
    parts = zip(*(given.split(net.part) for given in (net.x, target, _baseline(baseline, net.x))), strict=True)
    return torch.cat([METHODS[method](_Task(net, *part, layer=layer, steps=steps, size=size)) for part in parts])


def _last_maps(net: Pictures) -> str:
    """The last layer that gives maps of more than one place, on the way to the output and not that itself."""
    with calls(net.module, clone=True) as found:
        raw = net(net.x[:1].clone().requires_grad_())
    last = found[-1].out if found and found[-1].out.shape == raw.shape and torch.equal(found[-1].out, raw) else None
    maps = [c for c in found if c.out.ndim == net.x.ndim and c.out[0, 0].numel() > 1 and c.out is not last]
    if not maps:
        raise InputTypeError(f"{type(net.obj).__name__} has no maps; gradcam needs a layer that gives some.")
    some = [call for call in maps if call.out.requires_grad and raw.requires_grad]
    slopes = torch.autograd.grad(raw.sum(), [call.out for call in some], allow_unused=True) if some else ()
    names = [call.name for call, g in zip(some, slopes, strict=True) if g is not None]
    return (names or [maps[-1].name])[-1]


def _scores(net: Pictures, x: Tensor) -> Tensor:
    """Evidence for every output, in parts (B, K)."""
    with torch.no_grad():
        return torch.cat([net.scores(part) for part in x.split(net.part)])


def _baseline(baseline: Any, x: Tensor) -> Tensor:
    given = torch.as_tensor(baseline, dtype=x.dtype, device=x.device)
    try:
        return given.expand(x.shape) if given.ndim == x.ndim else given.expand(x.shape[1:]).expand(x.shape)
    except RuntimeError:
        shapes = f"{tuple(given.shape)} for rows of shape {tuple(x.shape[1:])}"
        raise InputError(f"baseline has shape {shapes}; pass a number, or an array like a row.") from None


class SaliencyCheck(Result):
    """Maps before and after randomizing, from the output downwards."""

    names: tuple[str, ...]  # layer that was randomized last at each step
    correlation: np.ndarray  # rank correlation with the map of the net as it is, mean over rows (L,)
    spread: np.ndarray  # its standard deviation over rows (L,)
    absolute: np.ndarray  # the same of absolute values, mean over rows (L,)
    x: np.ndarray  # the first row, as the net sees it (C, *places)
    maps: np.ndarray  # its maps: of the net as it is, then at each step (1 + L, *places)
    method: str

    @property
    def passes(self) -> bool:
        """Whether the map of the fully randomized net is another one: r below 0.5."""
        return bool(self.correlation[-1] < PASSES_BELOW)

    def columns(self) -> dict[str, Any]:
        return {
            "randomized down to": self.names,
            "rank correlation": self.correlation,
            "spread over rows": self.spread,
            "of absolute values": self.absolute,
        }

    def figure(self) -> Figure:
        """The maps over the first row, and how much of the first map is left in each."""
        steps = zip(self.names, self.correlation, strict=True)
        titles = ["as trained", *(f"{name}\nr = {r:.2f}" for name, r in steps)]
        return plots.saliency(self.x[None], self.maps, titles, label=f"saliency ({self.method})")

    @property
    def caption(self) -> str:
        verb = "depends on" if self.passes else "hardly depends on"
        rest = f"from the output down, the rank correlation with the trained map is {self.correlation[-1]:.2f}."
        by = _NAMES.get(self.method, self.method)
        return f"Saliency by {by} {verb} the weights: with all of them randomized, {rest}"


@explanation("saliency-check", when=has_convolution)
def saliency_check(
    obj: Any, X: Any, *, method: str | Callable[[nn.Module, Any], Any] = "integrated", random_state: int = 0
) -> SaliencyCheck:
    """Whether saliency depends on the weights: they are randomized layer by layer from the output downwards.

    Of a deep net five states on the way are compared; a path of gradients has eight steps.

    Args:
        X: Rows (B, C, H, W) or (B, C, L); the first 8 are taken.
        method: A method of `saliency`, or a function (module, rows) -> maps (B, *places) of your own.
    """
    net = Pictures(obj, X)
    net.x, net.module = net.x[:CHECKED_ROWS], deepcopy(net.module)
    with net.open(gradients=False), calls(net.module) as seen:
        target = net.scores(net.x).argmax(1)
    weighted = {call.name: call.layer for call in reversed(seen) if _own(call.layer)}  # the last that ran first
    if not weighted:
        raise InputError(f"{type(net.module).__name__} ran no layer with weights; a net with some is needed.")
    found = [_maps(net, method, target)]  # 1 + L of (B, *places)
    stages = np.unique(np.linspace(0, len(weighted) - 1, MAX_STAGES).round().astype(int)).tolist()
    for step, layer in enumerate(weighted.values()):
        draw = DRAW.at("randomize", random_state, step)
        with torch.no_grad():
            for own, p in _own(layer):  # weights of the same root mean square, drawn anew
                noise = torch.randn(p.shape, generator=draw.generator(own), dtype=p.dtype).to(p.device)
                p.copy_(noise * p.square().mean().sqrt())
        if step in stages:
            found.append(_maps(net, method, target))
    r, size = (
        np.array([[_rank_correlation(f(a), f(b)) for a, b in zip(found[0], later, strict=True)] for later in found[1:]])
        for f in (np.asarray, np.abs)
    )  # (L, B)
    name = method if isinstance(method, str) else getattr(method, "__name__", "own method")
    first = np.stack([maps[0] for maps in found])
    names = tuple(list(weighted)[step] for step in stages)
    return SaliencyCheck(names, r.mean(1), r.std(1), size.mean(1), array(net.x[0]), first, name)


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; 0 where one of them is the same everywhere."""
    flat = np.ptp(a) == 0 or np.ptp(b) == 0
    return 0.0 if flat else float(spearmanr(a.ravel(), b.ravel())[0])  # pyright: ignore[reportArgumentType]


def _maps(net: Pictures, method: str | Callable[[nn.Module, Any], Any], target: Tensor) -> np.ndarray:
    with net.open():
        if isinstance(method, str):
            steps = min(_STEPS.get(method, 1), CHECK_STEPS)
            return array(attributions(net, method, target, steps=steps)).sum(1)  # (B, *places)
        return np.asarray(method(net.module, net.x.reshape(len(net.x), *net.row)), dtype=float)


def _own(layer: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Weights of the layer itself, also where they are parametrized."""
    return [(name, p) for name, p in layer.named_parameters() if "." not in name or name.startswith("parametrizations")]
