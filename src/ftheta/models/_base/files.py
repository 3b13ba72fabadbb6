"""Loading what was saved: the class from the catalog, the rest from plain values and tensors."""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from itertools import product
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import numpy as np
import pandas as pd
import torch
from annotated_types import Ge, Lt
from sklearn.pipeline import make_pipeline
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from ... import catalog, check, optim
from ...base import FORMAT, Estimator
from ...check import Size
from ...data import InputSpec, TargetSpec, encoder_of
from ...errors import FileFormatError, FThetaError, InputError, RunError
from ...store import Run
from ...train import Training


def load(path: str | Path, *, module: nn.Module | Callable[..., nn.Module] | None = None) -> Any:
    """A saved estimator, or the model of a finished run; every file is checked against its digest first.

    Args:
        path: Folder that `save` or a run wrote.
        module: The module to fill, for `ModuleClassifier` and `ModuleRegressor`.

    Returns:
        The estimator; for a run that encoded its columns, a pipeline of encoder and estimator.
    """
    run = Run(path)
    if not Path(path).exists():
        raise InputError(f"{path} does not exist. Give the folder that save() or `ftheta train` wrote.")
    if Path(path).is_file():
        what = f"{path} is a file; a saved model is a folder with config.json and model.safetensors."
        raise FileFormatError(f"{what} Give the folder.")
    run.check()
    if not run.has("model.safetensors"):
        raise RunError(f"{path} holds no finished model. Finish it with: ftheta train --resume {path}")
    with described(path):
        config = json.loads(run.read("config.json"))
        if config.get("format") != FORMAT:
            what = f"{run.path} has format {config.get('format')!r}, written by fθ {config.get('ftheta')};"
            raise FileFormatError(f"{what} this version reads format {FORMAT}. Train it again, or use that version.")
        estimator = revived(config, run.tree("model.safetensors"), str(run.path), module=module)
        if not run.has("encoder.json"):
            return estimator
        encoder = encoder_of(run.json("encoder.json"))
        if hasattr(estimator, "feature_names_in_"):
            encoder.set_output(transform="pandas")
        return make_pipeline(encoder, estimator)


@contextmanager
def described(path: str | Path) -> Iterator[None]:
    """What goes wrong with the content of files is one sentence that names their folder."""
    try:
        yield
    except FThetaError as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise FileFormatError(f"{path}: its files do not describe a model ({reason}). Use another copy.") from error


def revived(config: Mapping[str, Any], tree: Any, where: str, *, module: Any = None) -> Estimator:
    """The estimator that a config.json and a tree of parameters and state in a folder describe."""
    cls = catalog.resolve(config["model"], config["kind"], config["task"])
    params = dict(tree["params"])
    if isinstance(params.get("training"), dict):
        params["training"] = Training(**params["training"])
    if tree["state"].get("own_module_"):
        if module is None:
            advice = f"Pass it: ftheta.load({where!r}, module=my_net)"
            raise InputError(f"{where} was trained with your own module, which no file holds. {advice}")
        params["module"] = module
    estimator = cls(**params)
    _check_parameters(estimator)
    restore(estimator, tree["state"], f"{where}/model.safetensors", rehearse=module is None)
    return estimator


def _check_parameters(estimator: Any) -> None:
    """Every parameter against its annotation, as `fit` does; the settings of training too."""
    estimator._check_parameters()
    settings = getattr(estimator, "training", None)
    if isinstance(settings, Training):
        check.parameters("Training", check.constraints(Training, vars(settings)), vars(settings))
    if isinstance(settings, Training) and hasattr(estimator, "optimizer"):
        rule = optim.rule(str(settings.options.get("rule", estimator.optimizer)))
        for key in settings.options.keys() - {"rule", "lr", *(rule.known or settings.options)}:
            raise InputError(catalog.nearest("option of the optimizer:", key, rule.known or ()))


USES = ("predict", "predict_proba", "decision_function", "predict_interval", "transform")
Task = Literal["binary", "multiclass", "multilabel", "regression", "segment", "tag", "detect", "forecast", "none"]


class Learned:
    """What several classes learn, and of which kind it is."""

    classes_: np.ndarray
    feature_names_in_: np.ndarray
    history_: Sequence[Mapping[str, Real | str | None]]
    input_: tuple[tuple[Size, ...], Mapping[str, Any]]
    modules: Mapping[str, Mapping[str, Tensor]]
    n_features_in_: Size
    n_iter_: Annotated[int, Ge(0)]
    note_: str
    seed_: Annotated[int, Ge(0), Lt(2**32)]
    stop_reason_: str
    target_: tuple[Task, Size, Mapping[str, Any]]


def restore(estimator: Any, state: Any, where: str, *, rehearse: bool = True) -> None:
    """Put learned state that came from a file into an estimator, if it is what such an estimator learns."""
    known = get_type_hints(Learned)
    check.parameters(type(estimator).__name__, check.constraints(Learned, known), state)
    _reject_not_finite({name: value for name, value in state.items() if name != "history_"}, where)
    if "modules" in state and rehearse:
        _rehearse(copy(estimator), state, where)
    estimator.set_state(state)
    if "modules" not in state and (not hasattr(estimator, "kind") or estimator.kind().name == "table"):
        _try(estimator)


def _reject_not_finite(state: Any, where: str, name: str = "") -> None:
    """Raise for weights that are not finite; plain estimators may learn an infinite number, but never NaN."""
    if isinstance(state, Mapping | list | tuple):
        for key, value in state.items() if isinstance(state, Mapping) else enumerate(state):
            _reject_not_finite(value, where, f"{name}.{key}".removeprefix(".").removeprefix("modules.module_."))
    bad = 0
    if isinstance(state, Tensor):
        bad = int((~state.isfinite()).sum())
    elif isinstance(state, np.ndarray | float) and np.asarray(state).dtype.kind == "f":
        bad = int(np.isnan(state).sum())
    if bad:
        some = f"{bad} value{'s' * (bad > 1)} that {'are' if bad > 1 else 'is'} not finite"
        raise FileFormatError(f"{where}: {name!r} holds {some}; no answer would mean anything. Train it again.")


def _try(estimator: Any) -> None:
    """Rows of zeros through an estimator without a net: what was learned fits together, or an error says so."""
    columns = getattr(estimator, "feature_names_in_", None)
    for name, n in product([name for name in USES if hasattr(estimator, name)], (2, 3)):
        rows = np.zeros((n, estimator.n_features_in_))
        with suppress(FThetaError), warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            found = getattr(estimator, name)(rows if columns is None else pd.DataFrame(rows, columns=columns))
            width = found.shape[1] if found.ndim > 1 else 2
            if name in ("predict_proba", "decision_function") and width != len(estimator.classes_):
                raise TypeError(f"{len(estimator.classes_)} classes for {width} outputs")


def _rehearse(estimator: Any, state: Mapping[str, Any], where: str) -> None:
    """Make the net once where tensors take no memory: a file may name far larger sizes than it holds."""
    held = sum(tensor.numel() for tensors in state["modules"].values() for tensor in tensors.values())
    made = 0

    def count(_: nn.Module, name: str, tensor: Tensor | None) -> None:
        nonlocal made
        made += 0 if tensor is None else tensor.numel()
        if made > 4 * held + 1000:
            raise FileFormatError(f"{where}: holds {held} numbers, its net has more. It is damaged; use another copy.")

    Estimator.set_state(estimator, {name: value for name, value in state.items() if name != "modules"})
    estimator.input_, estimator.target_ = (
        InputSpec(tuple(state["input_"][0]), state["input_"][1]),
        TargetSpec(*state["target_"]),
    )
    hooks = register_module_parameter_registration_hook(count), register_module_buffer_registration_hook(count)
    try:
        with torch.device("meta"):
            estimator.make_modules()
    finally:
        for hook in hooks:
            hook.remove()


def facts_of(run: Run) -> dict[str, Any]:
    """What fit.json says of the fit that a run holds."""
    found = run.json("fit.json")
    match found:
        case {"class": str(), "parameters": dict(), "data": str(), "seed": s} if type(s) is int and 0 <= s < 2**32:
            return found
    raise FileFormatError(f"{run.path}/fit.json does not describe a fit. Use another copy, or another run folder.")


def fill(module: nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Load tensors into a module, or say which names and shapes differ."""
    own = module.state_dict()
    shapes = [
        f"{k!r} is {tuple(tensors[k].shape)}, the model needs {tuple(own[k].shape)}"
        for k in own
        if k in tensors and tensors[k].shape != own[k].shape
    ]
    apart = {"missing": sorted(set(own) - set(tensors)), "unexpected": sorted(set(tensors) - set(own))}
    found = [*shapes, *(f"{what}: {', '.join(names)}" for what, names in apart.items() if names)]
    if found:
        raise InputError(f"{where} does not fit: {'; '.join(found[:4])}. Check that the module has the same layers.")
    module.load_state_dict(dict(tensors))
