"""A trained model as plain PyTorch: one script, the plan of its encoder and its weights, without fθ.

    model -> model.py, encoder.json, model.safetensors

The script is the text of `data.script_template()` with its constants and its net filled in. All that is filled in is a
checked JSON value, written by `repr`, or a layer of `LAYERS`, so no text from a file becomes code.
"""

import codecs
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pprint import pformat
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from .. import __version__, likelihoods
from ..data import script_template
from ..data.encode.columns import Text
from ..errors import FileFormatError, InputError
from ..formulas.inference import interval
from ..nn import Bump, Dropout, Sign, Sin, Step
from ..tasks import class_names
from . import files as run_file

SCRIPT = "model.py"
LAYERS: dict[type[nn.Module], tuple[str, ...]] = {  # and the attributes that its constructor takes, in order
    nn.Linear: ("in_features", "out_features"),
    nn.LeakyReLU: ("negative_slope",),
    nn.ELU: ("alpha",),
    nn.Dropout: ("p",),
    Dropout: ("p",),
    **dict.fromkeys((nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Identity), ()),
}
FUNCTIONS: dict[type[nn.Module], str] = {Sin: "sin", Bump: "bump", Sign: "sign", Step: "step"}


class _Parts(NamedTuple):
    """What a script is made from."""

    net: nn.Sequential
    weights: Mapping[str, Tensor]
    likelihood: str
    dtype: str = "float64"
    units: tuple[float, float] = (0.0, 1.0)


def export(
    estimator: Any,
    encoder: Mapping[str, Any],
    *,
    about: str,
    target: str,
    classes: Sequence[str],
    half_width: float | None,
    encoding: str,
) -> dict[str, bytes]:
    """The files of the script of a fitted estimator, by name.

    Args:
        estimator: The fitted one.
        encoder: The state of its encoder; `comma`: whether commas mark decimals, `format` of a column: of its dates.
        about: One line that names the model.
        target: Name of y.
        classes: Names of the classes.
        half_width: Half the width of the interval around a number, where the likelihood has none.
        encoding: Of the characters of CSV files.
    """
    check_is_fitted(estimator)
    parts = _parts(estimator, half_width)
    constants = {
        "ABOUT": about,
        "TARGET": target,
        "CLASSES": [str(name) for name in classes],
        "LIKELIHOOD": parts.likelihood,
        "UNITS": list(parts.units),
        "HALF_WIDTH": half_width,
        "DTYPE": parts.dtype,
        "ENCODING": _codec(encoding),
    }
    plan = _checked({"comma": False, **encoder}, "encoder")
    return {
        SCRIPT: _script(constants, parts.net).encode(),
        "encoder.json": (json.dumps(plan, indent=1) + "\n").encode(),
        "model.safetensors": save({name: tensor.detach().cpu().contiguous() for name, tensor in parts.weights.items()}),
    }


def run_files(trained: Any) -> dict[str, bytes]:
    """The files of the script of a run, by name."""
    columns = getattr(trained.encoder, "plans_", ())
    if words := next((plan.name for plan in columns if isinstance(plan, Text)), None):
        raise InputError(f"The column {words!r} is free text, which scripts do not encode. Use `ftheta predict`.")
    units = (trained.facts["csv_format"] or {}).get("units", {})
    if unit := next((plan.name for plan in columns if plan.name in units), None):
        raise InputError(
            f"Numbers of the column {unit!r} have a unit, which scripts do not read. Use `ftheta predict`."
        )
    config, facts, held = trained.config, trained.facts, run_file.interval(trained.run)
    form, encoder = dict(facts["csv_format"] or {}), trained.encoder.get_state()
    for column in encoder.get("columns", ()):  # how the dates of training were written
        column |= {"format": form["dates"][column["name"]]} if column["name"] in form.get("dates", {}) else {}
    by = f"written by fθ {__version__} from the run {trained.run.path.resolve().name}"
    names = class_names(trained.model, facts["classes"]) if hasattr(trained.model, "classes_") else ()
    return export(
        trained.model,
        {**encoder, "comma": form.get("comma", False)},
        about=f"{config.model} trained on {facts['name']}, {by}.",
        target=config.target,
        classes=names,
        half_width=None if held is None else held["half_width"],
        encoding=config.encoding,
    )


def _codec(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise InputError(f"encoding={encoding!r:.40} is not the name of an encoding, e.g. utf-8 or latin-1.") from None
    return "utf-8-sig" if name == "utf-8" else name


# ---- the net


def _parts(estimator: Any, half_width: float | None) -> _Parts:
    """The net of an estimator, or a sentence if it has none that can be written."""
    name = type(estimator).__name__
    module: Any = vars(estimator).get("module_")
    law, plane = type(getattr(estimator, "likelihood_", None)), module is None and hasattr(estimator, "coef_")
    chain = _is_chain(module) and getattr(likelihoods, law.__name__, None) is law
    if plane or chain:
        with warnings.catch_warnings(action="ignore"):  # rows without names of columns
            answers = np.asarray(estimator.predict(np.zeros((2, estimator.n_features_in_))))
        if answers.ndim > 1:
            n = answers.shape[1]
            raise InputError(f"{name} was fitted to {n} targets; a script is written for one. Fit one each.")
    if plane and _is_plane(estimator):
        if not hasattr(estimator, "classes_"):
            return _plane(estimator.coef_[None], estimator.intercept_, "Gaussian", _width(estimator, half_width))
        likelihood = "Bernoulli" if len(estimator.classes_) == 2 else "Categorical"
        return _plane(estimator.coef_, estimator.intercept_, likelihood, {})
    if not chain or module is None:
        advice = "Its weights are in the model.safetensors of the run."
        raise InputError(f"{name} cannot be exported as Python yet; mlp and linear models can. {advice}")
    weights = {**module.state_dict(), **estimator.likelihood_.state_dict()}
    facts = estimator.target_.facts
    units = float(facts.get("mean", 0.0)), float(facts.get("scale", 1.0))
    return _Parts(module, weights, law.__name__, estimator.dtype, units)


def _is_plane(estimator: Any) -> bool:
    """Whether its answers are X wᵀ + b, or the softmax of that, on a few rows."""
    w, b, n = np.atleast_2d(estimator.coef_), np.ravel(estimator.intercept_), estimator.n_features_in_
    if w.shape[1] != n or not (hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_")):
        return False
    X = np.random.default_rng(0).normal(size=(5, n))
    raw = X @ w.T + b  # (5, R)
    with warnings.catch_warnings(action="ignore"):  # rows without names of columns
        if not hasattr(estimator, "classes_"):
            return np.allclose(estimator.predict(X), raw[:, 0])
        raw = np.column_stack([np.zeros(5), raw]) if raw.shape[1] == 1 else raw
        return np.allclose(estimator.predict_proba(X), softmax(raw, axis=1))


def _is_chain(module: Any) -> bool:
    """Whether a module is a plain sequence of layers that can be written."""
    plain = isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward
    return plain and all(type(layer) in LAYERS or type(layer) in FUNCTIONS for layer in module)


def _plane(w: np.ndarray, b: np.ndarray, likelihood: str, more: Mapping[str, Tensor]) -> _Parts:
    """w (R, D) and b (R,) as a net."""
    net = nn.Sequential()
    with torch.device("meta"):  # only its shape is written
        net.append(nn.Linear(w.shape[1], w.shape[0]))
    bias = torch.from_numpy(np.reshape(b, len(w)))
    return _Parts(net, {"0.weight": torch.from_numpy(w), "0.bias": bias, **more}, likelihood)


def _width(model: Any, half_width: float | None) -> dict[str, Tensor]:
    """Half the width of the interval of least squares at x is ‖A x + a‖: A (D + 1, D), a (D + 1,), where it is used."""
    if half_width is not None or getattr(model, "root_", None) is None or not model.dof_:
        return {}
    f = int(model.fit_intercept)
    t = interval(0.0, float(model.sigma_), 0.95, model.dof_)[1]
    slope = np.vstack([model.root_[f:, f:].T, np.zeros_like(model.coef_)])
    offset = np.append(-slope[:-1] @ model.mean_, math.sqrt(1 + f * model.root_[0, 0] ** 2))
    return {"width.weight": torch.from_numpy(t * slope), "width.bias": torch.from_numpy(t * offset)}


# ---- the script


def _script(constants: Mapping[str, Any], net: nn.Sequential) -> str:
    """The template with its constants and its net filled in."""
    texts = {name: pformat(_checked(value, name), width=100, sort_dicts=False) for name, value in constants.items()}
    pairs = [f"{_checked(name, name)!r}: {_layer(layer)},\n" for name, layer in net.named_children()]
    layers = "".join(f"{12 * ' '}{pair}" for pair in pairs)
    texts["net"] = f"nn.Sequential(\n        OrderedDict({{\n{layers}        }})\n    )"
    assignment = re.compile(rf"^( *({'|'.join(texts)}) = ).*?(  #.*)?$", re.MULTILINE)
    return assignment.sub(lambda line: f"{line[1]}{texts[line[2]]}{line[3] or ''}", script_template())


def _layer(layer: nn.Module) -> str:
    """A layer as the call that makes it."""
    if type(layer) in FUNCTIONS:
        return f"Function({FUNCTIONS[type(layer)]!r})"
    kind = "Dropout" if isinstance(layer, nn.Dropout) else type(layer).__name__
    return f"nn.{kind}({', '.join(repr(_checked(getattr(layer, name), name)) for name in LAYERS[type(layer)])})"


def _checked(value: Any, name: str) -> Any:
    """A value of JSON, or an error: nothing whose `repr` is not a literal."""
    kind = type(value)
    if kind in (list, tuple):
        return [_checked(item, name) for item in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: _checked(item, name) for key, item in value.items()}
    if kind in (type(None), bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    raise FileFormatError(f"{name} is {value!r:.40}, which a script cannot hold; expected plain finite values.")
