"""Augmentation: batches whose images are changed at random while their labels stay right.

    affine                    xᵢ(p) -> xᵢ(Aᵢ p): shift, rotate, scale, shear and crop in one resampling
    flip noise cutout         mirror, xᵢ + σ ε, a blank square
    mixup cutmix              x = λ xᵢ + (1 - λ) xⱼ,     p = λ e_{yᵢ} + (1 - λ) e_{yⱼ},     λ ~ Beta(α, α)

Each is a function (batch, draw) -> batch of the batch and (seed, path) alone; each image has its own draw. Whether a
label stays right depends on the data: `AUGMENTATIONS` says up to which strength digits keep theirs.
Mixup blends two inputs, cutmix pastes a rectangle of one image into another and counts λ as the area left: the only
two that change labels. Weighted rows: λ wᵢ and (1 - λ) wⱼ in place of λ and 1 - λ, and the mixed row weighs their sum.

References: DeVries and Taylor, Cutout (2017); Zhang et al., mixup (2018); Yun et al., CutMix (2019); Cubuk et al.,
RandAugment (2020).
Shapes: B images, C channels, H rows, W columns: x (B, C, H, W), of mixup (B, ...); K classes: y (B,) mixed becomes
probabilities (B, K), and y (B,) of 0.0 and 1.0 the probability of 1, (B,).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...catalog import nearest
from ...draw import Draw
from ...errors import InputError
from ..batch import Batch
from .pixels import FILLS, Fill, box, floats, images, spread, strength_of, uniform, warp


def mixup(batch: Batch, draw: Draw, alpha: float = 0.2, *, n_classes: int) -> Batch:
    """Each row blended with another one, λ ~ Beta(α, α); y (B,) becomes probabilities (B, K)."""
    strength_of("mixup", alpha)
    if not alpha:
        return batch
    own, partner = _partners(batch, draw, "mixup", alpha)
    return blend(batch, partner, own, n_classes)


def cutmix(batch: Batch, draw: Draw, alpha: float = 1.0, *, n_classes: int) -> Batch:
    """A rectangle of another image pasted into each, of area 1 - λ, λ ~ Beta(α, α); labels by the area pasted."""
    strength_of("cutmix", alpha)
    if not alpha:
        return batch
    x = images(batch)
    own, partner = _partners(batch, draw, "cutmix", alpha)
    side = (1 - own).sqrt()
    mask = box(x, (side * x.shape[2]).round(), (side * x.shape[3]).round(), draw)
    kept = 1 - mask.flatten(1).mean(1, dtype=torch.double)
    mixed = _labels(batch, partner, kept, n_classes)
    return mixed._replace(x=torch.where(mask, x[partner], x))


def blend(batch: Batch, partner: Tensor, own: Tensor, n_classes: int) -> Batch:
    """Row i as own[i] of itself and 1 - own[i] of row partner[i]: inputs, labels, weights.

    Example:
        >>> pair = Batch(torch.eye(2), torch.tensor([0, 2]))
        >>> blend(pair, torch.tensor([1, 0]), torch.tensor([0.3, 1.0]), 3).y
        tensor([[0.3000, 0.0000, 0.7000],
                [0.0000, 0.0000, 1.0000]])
    """
    x = floats(batch)
    mixed = _labels(batch, partner, own, n_classes)
    return mixed._replace(x=torch.lerp(x[partner], x, spread(own.to(x.dtype), x)))


def _partners(batch: Batch, draw: Draw, name: str, alpha: float) -> tuple[Tensor, Tensor]:
    """λ (B,), and the row that each is mixed with, another one: the next in a circle of random order, (B,)."""
    own = np.random.default_rng(draw.key(name)).beta(alpha, alpha, batch.n)  # torch's takes no generator
    x = floats(batch)
    circle = torch.randperm(batch.n, generator=draw.generator("partner", x.device), device=x.device)
    return torch.from_numpy(own).to(x.device), torch.empty_like(circle).scatter_(0, circle, circle.roll(1))


def _labels(batch: Batch, partner: Tensor, own: Tensor, n_classes: int) -> Batch:
    y, w = _classes(batch), batch.weight
    shares = torch.stack((own, 1 - own), 1)  # (B, 2)
    if w is not None:
        parts = shares * torch.stack((w, w[partner]), 1)
        total = parts.sum(1, keepdim=True)
        shares = torch.where(total > 0, parts / total, shares)  # two rows of weight 0: any label will do
        w = total[:, 0].to(w.dtype)
    pair = torch.stack((y, y[partner]), 1)
    if y.is_floating_point():
        return batch._replace(y=(shares * pair).sum(1).to(y.dtype), weight=w)
    if n_classes < 1:
        raise InputError(f"mixup and cutmix need the number of classes, got n_classes={n_classes}; pass how many.")
    p = shares.new_zeros(batch.n, n_classes).scatter_add_(1, pair.long(), shares)
    return batch._replace(y=p.to(batch.x.dtype), weight=w)


def _classes(batch: Batch) -> Tensor:
    """y (B,): class indices, or 0.0 and 1.0 of two classes."""
    y = batch.y
    if isinstance(y, Tensor) and y.ndim == 1 and (not y.is_floating_point() or ((y == 0) | (y == 1)).all()):
        return y
    found = f"{y.dtype} of shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
    needed = f"y must hold class indices of shape ({batch.n},), got {found}"
    others = "regression, several labels, labels of pixels and labels mixed already"
    raise InputError(f"mixup and cutmix mix classes: {needed}; leave them out for {others}.")


def affine(
    batch: Batch,
    draw: Draw,
    *,
    shift: float = 0.0,
    rotate: float = 0.0,
    scale: float = 0.0,
    shear: float = 0.0,
    crop: float = 0.0,
    fill: Fill = "zeros",
) -> Batch:
    """Images moved, turned, resized and sheared: uniform in ±shift pixels, ±rotate and ±shear degrees, ±log(1 + scale).

    `crop` moves by an integer number of pixels up to it, as a window cut out of the image with a rim does.
    """
    if not any([strength_of(*pair) for pair in zip(AFFINE, (shift, rotate, scale, shear, crop), strict=True)]):
        return batch
    u = uniform(draw, "affine", images(batch), 7)
    steps = (u[5:] * (2 * int(crop) + 1)).floor() - int(crop)
    right, down, turn, size, lean = 2 * u[:5] - 1
    moved = {"right": shift * right + steps[0], "down": shift * down + steps[1], "degrees": rotate * turn}
    return _warped(batch, **moved, scale=(1 + scale) ** size, shear=shear * lean, fill=fill)


def flip(
    batch: Batch, draw: Draw, share: float = 0.5, *, axis: Literal["horizontal", "vertical"] = "horizontal"
) -> Batch:
    """A `share` of the images mirrored: left for right (horizontal), or top for bottom (vertical)."""
    strength_of("flip", share)
    if axis not in ("horizontal", "vertical"):
        raise InputError(nearest("axis", axis, ("horizontal", "vertical")))
    if not share:
        return batch
    chosen = uniform(draw, "flip", images(batch), 1)[0] < share  # (B,)
    side = -1 if axis == "horizontal" else -2
    return _moved(batch, lambda t: torch.where(spread(chosen, t), t.flip(side), t))


def noise(batch: Batch, draw: Draw, sd: float = 0.1) -> Batch:
    """Gaussian noise of this standard deviation added to every pixel; values may leave [0, 1]."""
    strength_of("noise", sd)
    return batch._replace(x=_noisy(floats(batch), sd, draw)) if sd else batch


def cutout(batch: Batch, draw: Draw, pixels: float = 8.0) -> Batch:
    """A square of `pixels` a side set to 0, its middle anywhere in the image; beyond the edge it is cut off."""
    strength_of("cutout", pixels)
    return batch._replace(x=_cut(images(batch), pixels, draw)) if pixels else batch


def rand_augment(batch: Batch, draw: Draw, magnitude: float = 1.0, *, operations: int = 2) -> Batch:
    """`operations` different ones of shifts right and down, rotate, scale, shear, noise, cutout, drawn for each image.

    All have the same magnitude, to a random side: 1 is the default strength of each in `AUGMENTATIONS`.
    """
    strength_of("rand_augment", magnitude)
    if not 0 <= operations <= 7:
        raise InputError(f"rand_augment has 7 operations to choose from, got operations={operations}; use 0 to 7.")
    if not magnitude or not operations:
        return batch
    u = uniform(draw, "rand_augment", images(batch), 14)
    chosen = u[:7].argsort(0) < operations  # (7, B): each image has the seven in a random order
    side = torch.where(u[7:] < 0.5, -1.0, 1.0) * chosen
    size = {name: magnitude * AUGMENTATIONS[name].strength for name in ("shift", "rotate", "shear", "noise", "cutout")}
    right, down = side[:2] * size["shift"]
    scale = (1 + magnitude * AUGMENTATIONS["scale"].strength) ** side[3]
    turn, lean = side[2] * size["rotate"], side[4] * size["shear"]
    batch = _warped(batch, right=right, down=down, degrees=turn, scale=scale, shear=lean)
    x = _noisy(batch.x, chosen[5] * size["noise"], draw)
    return batch._replace(x=_cut(x, chosen[6] * size["cutout"], draw))


def _moved(batch: Batch, move: Callable[[Tensor], Tensor]) -> Batch:
    """Labels and weights of pixels (B, H, W) move with them."""
    places = batch.x.shape[2:]
    both = (batch.y, batch.weight)
    y, weight = (move(t) if isinstance(t, Tensor) and t.shape[1:] == places else t for t in both)
    return batch._replace(x=move(batch.x), y=y, weight=weight)


def _warped(batch: Batch, **moves: Any) -> Batch:
    def move(t: Tensor) -> Tensor:
        if t.ndim == 4:
            return warp(t, **moves)
        return warp(t[:, None].double(), mode="nearest", **moves)[:, 0].to(t.dtype)

    return _moved(batch, move)


def _noisy(x: Tensor, sd: float | Tensor, draw: Draw) -> Tensor:
    eps = torch.randn(x.shape, generator=draw.generator("noise", x.device), device=x.device, dtype=x.dtype)
    return x + eps * (spread(sd.to(x.dtype), x) if isinstance(sd, Tensor) else sd)


def _cut(x: Tensor, pixels: float | Tensor, draw: Draw) -> Tensor:
    side = torch.as_tensor(pixels, device=x.device).round().expand(len(x))
    return x.masked_fill(box(x, side, side, draw), 0.0)


class Augmentation(NamedTuple):
    """One kind."""

    function: Callable[..., Batch]
    strength: float  # the default
    unit: str
    digits: float  # strength up to which a digit keeps its label
    label_safe: str  # when labels stay right


AUGMENTATIONS: dict[str, Augmentation] = {
    "shift": Augmentation(affine, 2.0, "pixels", 4.0, "safe while the object stays in the image"),
    "rotate": Augmentation(affine, 10.0, "degrees", 45.0, "unsafe for digits beyond 45°: a 6 turned by 180° is a 9"),
    "scale": Augmentation(affine, 0.1, "share", 0.5, "safe while the object stays visible and in the image"),
    "shear": Augmentation(affine, 10.0, "degrees", 45.0, "safe while small; unsafe for digits beyond 45°"),
    "flip": Augmentation(flip, 0.5, "share of images", 0.0, "unsafe for digits and letters; safe for most photos"),
    "crop": Augmentation(affine, 2.0, "pixels", 4.0, "safe while the object stays in the image"),
    "noise": Augmentation(noise, 0.1, "standard deviation", 0.5, "safe while the object stays visible"),
    "cutout": Augmentation(cutout, 8.0, "pixels", 10.0, "safe while the square is smaller than the object"),
    "rand_augment": Augmentation(rand_augment, 1.0, "default strengths", 1.25, "safe while every operation is"),
    "mixup": Augmentation(mixup, 0.2, "α of Beta(α, α)", math.inf, "changes labels: they are mixed like the images"),
    "cutmix": Augmentation(cutmix, 1.0, "α of Beta(α, α)", math.inf, "changes labels: they are mixed by area"),
}
AFFINE = {"shift": "pixels", "rotate": "degrees", "scale": "share", "shear": "degrees", "crop": "pixels"}


def augmentation(
    spec: Mapping[str, float | Mapping[str, Any]] | Sequence[str] | str,
    n_classes: int = 0,
    *,
    labels: Literal["any", "digits"] = "any",
) -> Callable[[Batch, Draw], Batch] | None:
    """Several in one function, those that move pixels first and in one resampling; None without any.

    Args:
        spec: Names, names with strengths ("shift=2, rotate=10"), or a mapping from names to strengths or to options.
        n_classes: Number of classes, for mixup and cutmix.
        labels: "digits" refuses what can turn one digit into another.

    Example:
        >>> blurred = augmentation({"rotate": 10, "noise": {"sd": 0.2}})
        >>> blurred(Batch(torch.zeros(2, 1, 8, 8)), Draw(0)).x.std().item() > 0
        True
    """
    if labels not in ("any", "digits"):
        raise InputError(nearest("labels", labels, ("any", "digits")))
    steps: dict[Any, dict[str, Any]] = {}
    for name, options in _named(spec).items():
        kind = AUGMENTATIONS[name]
        options = _options(name, options)
        strength = next(iter(options.values()))
        if labels == "digits" and strength > kind.digits:
            change = f"{name} of {strength:g} can change a digit: {kind.label_safe}"
            raise InputError(f"{change}. Use at most {kind.digits:g}.")
        if name in AFFINE:
            fill = options.get("fill", "zeros")
            if fill not in FILLS:
                raise InputError(nearest("fill", fill, FILLS))
            steps.setdefault((affine, fill), {"fill": fill})[name] = strength
        else:
            steps[kind.function, name] = options | ({"n_classes": n_classes} if name in ("mixup", "cutmix") else {})
    moves = sorted(steps, key=lambda step: step[0] is not affine)
    return partial(_composed, steps=tuple(partial(step[0], **steps[step]) for step in moves)) if steps else None


def _composed(batch: Batch, draw: Draw, steps: Sequence[Callable[[Batch, Draw], Batch]]) -> Batch:
    for i, step in enumerate(steps):
        batch = step(batch, draw.at(i))
    return batch


def _named(spec: Any) -> dict[str, Any]:
    """Name to a strength, options, or None for the defaults."""
    if isinstance(spec, str):
        spec = [part for part in spec.split(",") if part.strip()]
    if not isinstance(spec, Mapping):
        if not isinstance(spec, Sequence):
            raise InputError(f"Augmentations are given by their names, got {spec!r}; e.g. 'shift, rotate=10'.")
        spec = {name.strip(): value.strip() or None for name, _, value in (str(part).partition("=") for part in spec)}
    for name in spec:
        if name not in AUGMENTATIONS:
            raise InputError(nearest("augmentation", name, AUGMENTATIONS))
    if {"mixup", "cutmix"} <= set(spec):
        raise InputError("mixup and cutmix are both named, but labels can be mixed once only; name one of them.")
    return dict(spec)


def _options(name: str, given: Any) -> dict[str, Any]:
    """Keyword arguments of its function, the strength first."""
    function = AUGMENTATIONS[name].function
    known = [AFFINE[name], "fill"] if name in AFFINE else list(signature(function).parameters)[2:]
    known = [option for option in known if option != "n_classes"]
    options = dict(given) if isinstance(given, Mapping) else {} if given is None else {known[0]: given}
    for option in options:
        if option not in known:
            raise InputError(nearest(f"option of {name}", option, known))
    strength = options.pop(known[0], AUGMENTATIONS[name].strength)
    return {known[0]: strength_of(name, strength)} | options


def views(k: int = 5) -> list[Callable[[Tensor], Tensor]]:
    """k fixed functions of images (B, C, H, W) whose predictions are averaged: themselves, then their nearest shifts.

    Example:
        >>> [view(torch.tensor([[[[1.0, 2.0, 3.0]]]])).flatten().tolist() for view in views(3)]
        [[1.0, 2.0, 3.0], [2.0, 3.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if not 1 <= k <= 25:
        raise InputError(f"views are shifts by up to 2 pixels, 1 to 25 of them, got k={k}; use a number in that range.")
    near = sorted(product(range(-2, 3), repeat=2), key=lambda step: step[0] ** 2 + step[1] ** 2)
    return [partial(_stepped, right=right, down=down) for right, down in near[:k]]


def _stepped(x: Tensor, right: int, down: int) -> Tensor:
    """Moved by an integer number of pixels, zeros moved in."""
    down, right = (max(-n, min(n, step)) for n, step in zip(x.shape[2:], (down, right), strict=True))
    return F.pad(x, (right, -right, down, -down))  # padding below 0 cuts off
