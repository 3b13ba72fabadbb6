"""A trained run as plain PyTorch: one script, the constants of its encoder and its weights, without fθ.

    run -> model.py (net, encoder, likelihood, training loop), encoder.json, model.safetensors

A family that can be exported has a method `source() -> Source`: the net, the training and the likelihood as text.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from safetensors.torch import save
from torch import Tensor

from .. import optim
from ..data import _cells
from ..errors import InputError
from ..train import Training
from . import _script, _script_nets
from ._script import filled

if TYPE_CHECKING:
    from ._supervised import NeuralSupervised

__all__ = ["SCRIPT", "Source", "export", "in_steps"]

SCRIPT = "model.py"
_SHAPES = {  # with the settings of a schedule in place of its own
    "step": ("{factor} ** sum(t >= place for place in {at})", {"factor": 0.1, "at": (0.5, 0.75)}),
    "exponential": ("{end} ** t", {"end": 0.01}),
    "inverse": ("1 / (1 + (1 / {end} - 1) * t)", {"end": 0.01}),
    "inverse-sqrt": ("1 / math.sqrt(1 + (1 / {end} ** 2 - 1) * t)", {"end": 0.1}),
    "cosine": ("{end} + (1 - {end}) * (1 + math.cos(math.pi * t)) / 2", {"end": 0.0}),
    "linear": ("1 - (1 - {end}) * t", {"end": 0.0}),
}
_WATCH = [
    "    valid = () if valid_rows is None else (encode(valid_rows), encode_target(valid_y))",
    "    best, best_epoch, best_weights = math.inf, 0, None",
]


class Source(NamedTuple):
    """A fitted estimator as text and tensors.

    Args:
        net: `class Net(nn.Module)`.
        weights: What fills it, by the names of its state_dict.
        likelihood: Name of the class of its likelihood.
        train: `def train(rows, y, ...)`, which returns a Net, and what it needs.
        dtype: Of the numbers.
        units: Mean and scale of y; (0, 1) where the net sees y itself.
    """

    net: str
    weights: Mapping[str, Tensor]
    likelihood: str
    train: str
    dtype: str
    units: tuple[float, float] = (0.0, 1.0)


def export(
    estimator: Any,
    encoder: Mapping[str, Any],
    *,
    title: str,
    target: str,
    classes: Sequence[str],
    spread: float | None,
    encoding: str,
) -> dict[str, bytes]:
    """The files that take a trained model away, by name.

    Args:
        estimator: The fitted one.
        encoder: The state of its encoder.
        title: First line of the script.
        target: Name of y.
        classes: Names of the classes.
        spread: Half the width of the interval around a number, where the likelihood says none.
        encoding: Of the characters of CSV files.
    """
    if not hasattr(estimator, "source"):
        raise InputError(
            f"{type(estimator).__name__} cannot be exported as Python yet; mlp and linear can. Its weights are in the "
            "model.safetensors of the run."
        )
    source: Source = estimator.source()
    pictures = encoder["encoder"] == "pixels"
    parts = [
        _script.PICTURES if pictures else _table(encoding, encoder),
        filled(_script_nets.NET, net=source.net),
        _density(source.likelihood),
        _classes(source.likelihood) if classes else _numbers(source.likelihood, spread),
        f"\n\n# ---- training: the same loss, rule and settings; other random numbers\n\n\n{source.train}",
        filled(_script.MAIN, help=_quoted(f"{_KINDS[pictures]} with the inputs of training")),
    ]
    body = "".join(parts)
    head = _head(source, title, target, classes, spread, pictures, body)
    return {
        SCRIPT: (head + body).encode(),
        "encoder.json": _constants(encoder),
        "model.safetensors": save({name: tensor.detach().contiguous() for name, tensor in source.weights.items()}),
    }


# ---- the parts that every script has

_KINDS = {False: "a CSV file", True: "an NPY or NPZ file"}


def _plain(title: str) -> str:
    """A title that can do no harm in a docstring."""
    return re.sub(r'[\\"\n\r]', "?", title)


def _head(
    source: Source, title: str, target: str, classes: Sequence[str], spread: float | None, pictures: bool, body: str
) -> str:
    lines = [f"TARGET = {_quoted(target)}  # the column that is predicted"] if target else []
    if classes:
        lines += _list("CLASSES", classes)
    else:
        mean, scale = source.units
        lines += [f"Y_MEAN, Y_SCALE = {mean!r}, {scale!r}  # the net sees (y - Y_MEAN) / Y_SCALE"]
        if _interval(source.likelihood, spread) == "spread":
            lines += [f"HALF_WIDTH = {spread!r}  # 95 of 100 held-out numbers lay as near to their prediction"]
    return filled(
        _script.HEAD,
        title=_plain(title),
        script=SCRIPT,
        file="new.npz" if pictures else "new.csv",
        imports=_imports(body),
        dtype=source.dtype,
        constants="\n".join(lines) + "\n",
    )


def _imports(body: str) -> str:
    """What the script imports: the standard library as far as it is used, then the rest."""
    used = [name for name in ("argparse", "copy", "math", "re", "sys") if re.search(rf"\b{name}\.", body)]
    first = [*(f"import {name}" for name in sorted([*used, "json"])), "from pathlib import Path", ""]
    arrays = ["import numpy as np", "import pandas as pd", "import torch"]
    functional = ["import torch.nn.functional as F"] if re.search(r"\bF\.", body) else []
    return "\n".join([*first, *arrays, *functional, "from safetensors.torch import load_file", "from torch import nn"])


def _constants(encoder: Mapping[str, Any]) -> bytes:
    """encoder.json: the plans, whether commas mark decimals, and the words for no value."""
    return (json.dumps({"comma": False, **encoder, "missing": _cells.MISSING}, indent=1) + "\n").encode()


def _list(name: str, values: Sequence[str]) -> list[str]:
    """An assignment of a list, one value a line where it is long."""
    short = f"{name} = {_values(values)}"
    return [short] if len(short) <= 120 else [f"{name} = [", *(f"    {_quoted(value)}," for value in values), "]"]


def _table(encoding: str, encoder: Mapping[str, Any]) -> str:
    """Reading and encoding, as far as the columns need it."""
    kinds = [kind for kind in _COLUMNS if any(column["kind"] == kind for column in encoder["columns"])]
    reading = {"number": _script.READ_NUMBERS, "date": _script.READ_DATES}
    parts = [
        _script.READ,
        *(reading[kind] for kind in kinds if kind in reading),
        _script.ENCODING,
        *(_COLUMNS[kind] for kind in kinds),
        _script.ENCODE,
    ]
    return filled(
        "".join(parts),
        how=", ".join(f'"{kind}": {kind}' for kind in kinds),
        encoding=_quoted("utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding),
        plain=_raw("(?i)" + _cells._PLAIN.pattern),
        comma=_raw(_cells._COMMA.pattern),
        point=_raw(_cells._POINT.pattern),
    )


_COLUMNS = {"number": _script.NUMBER, "levels": _script.LEVELS, "date": _script.DATE}


def _raw(pattern: str) -> str:
    return f'r"{pattern}"'


def _quoted(text: str) -> str:
    """A string as source, in double quotes if that needs no more than they."""
    source = repr(text)
    return f'"{source[1:-1]}"' if source[0] == "'" and '"' not in source else source


def _values(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _density(likelihood: str) -> str:
    says, lines = _script_nets.DENSITIES[likelihood]
    return filled(_script_nets.DENSITY, says=says, lines="\n".join(f"    {line}" for line in lines))


def _classes(likelihood: str) -> str:
    two = likelihood == "Bernoulli"
    p = "torch.stack((-raw, raw), 1).sigmoid()" if two else "raw.softmax(1)"
    return filled(_script_nets.CLASSES, probabilities=p, type="DTYPE" if two else "torch.long")


def _interval(likelihood: str, spread: float | None) -> str:
    own = {"LearnedGaussian": "own", "HeteroscedasticGaussian": "own", "Poisson": "poisson"}
    return own.get(likelihood, "none" if spread is None else "spread")


def _numbers(likelihood: str, spread: float | None) -> str:
    way = _interval(likelihood, spread)
    middle = "middle" if way == "spread" else "in_units(found.mean)"
    ends = "" if way == "none" else ', "low": low, "high": high'
    text = filled(
        _script_nets.NUMBERS,
        also="" if way == "none" else ", and the interval that holds 95 of 100",
        interval=_script_nets.INTERVALS[way],
        columns=f'"prediction": {middle}{ends}',
    )
    return text + (_script_nets.POISSON if way == "poisson" else "")


# ---- nets that are trained in steps


def in_steps(estimator: NeuralSupervised, net: str) -> Source:
    """The source of a neural estimator whose net is written as `net`."""
    if estimator.target_.kind == "multilabel" or (estimator.target_.kind == "regression" and estimator.target_.n):
        raise InputError(
            f"{type(estimator).__name__} was fitted to {estimator.target_.n} targets; a script is written for one. "
            "Fit one estimator for each target."
        )
    like: Any = estimator.likelihood_
    return Source(
        net,
        {name: tensor.cpu() for part in (estimator.module_, like) for name, tensor in part.state_dict().items()},
        type(like).__name__,
        _training(estimator),
        estimator.dtype,
        (float(getattr(estimator, "y_mean_", 0.0)), float(getattr(estimator, "y_scale_", 1.0))),
    )


def _training(estimator: NeuralSupervised) -> str:
    """`mean_loss`, the rate where it moves, and the loop."""
    knobs = estimator.training or Training()
    functions = [_mean_loss(getattr(estimator, "class_weight_", None)), *_penalty(knobs), *_rate(estimator, knobs)]
    return "\n\n".join([*functions, _loop(estimator, knobs)])


def _mean_loss(weights: np.ndarray | None) -> str:
    head = 'def mean_loss(net, x, y):\n    """-log p(y | x), averaged over rows."""\n'
    losses = "-density(net, x).log_prob(y)"
    if weights is None:
        return f"{head}    return {losses}.mean()\n"
    weigh = f"weight = torch.tensor({weights.tolist()!r}, dtype=DTYPE)[y.long()]  # by class"
    return f"{head}    {weigh}\n    return (weight * {losses}).sum() / weight.sum()\n"


def _penalty(knobs: Training) -> Iterable[str]:
    terms = [f"{rate!r} * p.{size}.sum()" for rate, size in ((knobs.l2, "square()"), (knobs.l1, "abs()")) if rate]
    what, each = "weights, not biases,", "for p in net.parameters() if p.ndim > 1"
    if knobs.penalise_bias:
        what, each = "weights and biases", 'for name, p in net.named_parameters() if name != "log_var"'
    if terms:
        yield f'def penalty(net):\n    """Keeps {what} small."""\n    return sum({" + ".join(terms)} {each})\n'


def _rule(estimator: NeuralSupervised, knobs: Training) -> tuple[str, float, dict[str, Any]]:
    """Name in torch.optim, rate and options."""
    options = dict(knobs.options)
    rule = optim.rule(options.pop("rule", estimator.optimizer))
    rate = options.pop("lr", estimator.lr)
    lr = float(rule.lr if rate is None else rate)
    if rule.needs != "gradient":  # of the rules that evaluate the loss themselves torch has one
        return "LBFGS", 1.0, {"line_search_fn": "strong_wolfe"}
    if rule.factory is optim.EMAMomentum:
        momentum = options.get("beta", 0.9)
        return "SGD", optim.momentum_rate(lr, momentum, to="classical"), {"momentum": momentum}
    name = rule.factory.__name__ if rule.factory.__module__.startswith("torch.") else "SGD"
    return name, lr, {**rule.options, **options}


def _left_out(estimator: NeuralSupervised, knobs: Training) -> str:
    """What the loop does not do though the run did."""
    name = dict(knobs.options).get("rule", estimator.optimizer)
    swapped = [f"{name} (L-BFGS instead)"] if optim.rule(name).needs != "gradient" and name != "lbfgs" else []
    knobs_left = ["plateaus"] if knobs.schedule == "plateau" else []
    knobs_left += [key for key in ("grow", "gradient_noise") if getattr(knobs, key)]
    return f", without {', '.join(swapped + knobs_left)}" if swapped or knobs_left else ""


def _rate(estimator: NeuralSupervised, knobs: Training) -> Iterable[str]:
    if knobs.schedule == "constant" and not knobs.warmup:
        return
    _, lr, _ = _rule(estimator, knobs)
    form, own = _SHAPES.get(knobs.schedule, ("1.0", {}))
    w, shape = knobs.warmup, "1.0" if knobs.grow else form.format(**{**own, **knobs.shape})
    rise = f"    if step < {w}:\n        return {lr!r} * (step + 1) / {w}\n" if w else ""
    t = f"(step - {w}) / max(1, updates - {w})" if w else "step / updates"
    here = f"    t = min(1.0, {t})\n    return {lr!r} * ({shape})\n" if shape != "1.0" else f"    return {lr!r}\n"
    said = f"{knobs.schedule}{f', after a rise over {w} updates' if w else ''}"
    yield f'def rate(step, updates):\n    """The learning rate of an update: {said}."""\n{rise}{here}'


def _loop(estimator: NeuralSupervised, knobs: Training) -> str:
    """`train`: a plain loop with only the lines that these settings need."""
    watched, scheduled = estimator.patience is not None, knobs.schedule != "constant" or knobs.warmup > 0
    given = ", valid_rows=None, valid_y=None" if watched else ""
    lines = [
        f"def train(rows, y{given}, epochs={estimator.epochs}, seed=0):",
        f'    """A new net, trained on rows and their y with the settings of the run{_left_out(estimator, knobs)}."""',
        "    torch.manual_seed(seed)",
        "    x, target = encode(rows), encode_target(y)",
        "    net = Net().to(DTYPE)",
        *_frozen(estimator),
        f"    optimizer = {_optimizer(estimator, knobs)}",
        *_batches(estimator, knobs),
        *(["    step, updates = 0, epochs * math.ceil(len(x) / batch)"] if scheduled else []),
        *(_WATCH if watched else []),
        "    for epoch in range(epochs):" if watched else "    for _ in range(epochs):",
        "        net.train()",
        *(["        total = 0.0"] if watched else []),
        "        for part in torch.randperm(len(x)).split(batch):",
        *_update(estimator, knobs, scheduled, watched),
        *(_stopping(estimator.patience, knobs) if estimator.patience is not None else []),
        "    return net.eval()",
    ]
    return "\n".join(lines) + "\n"


def _frozen(estimator: NeuralSupervised) -> list[str]:
    names = [name for name, p in estimator.module_.named_parameters() if not p.requires_grad]
    return [f"    net.get_parameter({_quoted(name)}).requires_grad_(False)" for name in names]


def _optimizer(estimator: NeuralSupervised, knobs: Training) -> str:
    name, lr, options = _rule(estimator, knobs)
    more = "".join(f", {k}={_quoted(v) if isinstance(v, str) else repr(v)}" for k, v in options.items())
    return f"torch.optim.{name}(net.parameters(), lr={lr!r}{more})"


def _batches(estimator: NeuralSupervised, knobs: Training) -> list[str]:
    if estimator._full_batch():
        return ["    batch = len(x)  # every update is made from all rows"]
    size = 200 if estimator.batch_size == "auto" else int(estimator.batch_size)
    return [f"    batch = {size * knobs.accumulate}"]


def _update(estimator: NeuralSupervised, knobs: Training, scheduled: bool, watched: bool) -> list[str]:
    """One update of the parameters from the rows `part`."""
    closure = optim.rule(estimator.optimizer).needs != "gradient"
    inner = " " * (16 if closure else 12)
    penalty = " + penalty(net)" if knobs.l2 or knobs.l1 else ""
    lines = [f"{inner}optimizer.zero_grad()"]
    lines += [f"{inner}loss = mean_loss(net, x[part], target[part])", f"{inner}(loss{penalty}).backward()"]
    if knobs.clip_value is not None:
        lines += [f"{inner}nn.utils.clip_grad_value_(net.parameters(), {knobs.clip_value!r})"]
    if knobs.clip_norm is not None:
        lines += [f"{inner}nn.utils.clip_grad_norm_(net.parameters(), {knobs.clip_norm!r})"]
    if estimator.optimizer == "normalised-gd":
        lines += [f"{inner}gradients = [p.grad for p in net.parameters() if p.grad is not None]"]
        lines += [f"{inner}length = torch.cat([g.flatten() for g in gradients]).norm()"]
        lines += [f"{inner}for g in gradients:", f"{inner}    g /= length.clamp(min=1e-30)"]
    if closure:
        lines = ["", f"{' ' * 12}def closure(part=part):", *lines, f"{inner}return loss{penalty}", ""]
    lines += [f"{' ' * 12}{'loss = ' if closure and watched else ''}optimizer.step({'closure' if closure else ''})"]
    if scheduled:
        lines = [f'{" " * 12}optimizer.param_groups[0]["lr"] = rate(step, updates)', *lines, f"{' ' * 12}step += 1"]
    return [*lines, *([f"{' ' * 12}total += loss.item() * len(part)"] if watched else [])]


def _stopping(patience: int, knobs: Training) -> list[str]:
    """Early stopping on the validation rows, if there are any, else on the training loss."""
    keep = "copy.deepcopy(net.state_dict())" if knobs.restore_best else "None"
    return [
        "        net.eval()",
        "        with torch.no_grad():",
        "            watched = mean_loss(net, *valid).item() if valid else total / len(x)",
        "        if watched < best:",
        f"            best, best_epoch, best_weights = watched, epoch, {keep}",
        f"        elif epoch - best_epoch >= {patience}:",
        "            break",
        *(["    if valid:", "        net.load_state_dict(best_weights)"] if knobs.restore_best else []),
    ]
