"""Loading what was saved: the class from the catalog, the rest from plain values and tensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from sklearn.pipeline import make_pipeline
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_parameter_registration_hook,
)

from .. import catalog
from ..base import FORMAT, Estimator
from ..data import InputSpec, TargetSpec, encoder_of
from ..errors import FileFormatError, FThetaError, InputError, RunError
from ..store import Run
from ..train import Training

__all__ = ["fill", "load"]


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
        raise FileFormatError(
            f"{path} is a file; a saved model is a folder with config.json and model.safetensors. Give the folder."
        )
    run.sound()
    if not run.has("model.safetensors"):
        raise RunError(f"{path} holds no finished model. Finish it with: ftheta train --resume {path}")
    try:
        estimator = _estimator(run, module)
        if not run.has("encoder.json"):
            return estimator
        encoder = encoder_of(json.loads(run.read("encoder.json")))
        if hasattr(estimator, "feature_names_in_"):
            encoder.set_output(transform="pandas")
        return make_pipeline(encoder, estimator)
    except FThetaError as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{path}: its files do not describe a model ({reason}). Use another copy.") from error


def _estimator(run: Run, module: Any) -> Estimator:
    config = json.loads(run.read("config.json"))
    if config.get("format", 0) > FORMAT:
        raise FileFormatError(
            f"{run.path} was written by fθ {config.get('ftheta')}, whose format this version does not know. "
            "Upgrade ftheta."
        )
    cls, tree = catalog.resolve(config["model"], config["task"]), run.tree("model.safetensors")
    params = dict(tree["params"])
    if isinstance(params.get("training"), dict):
        params["training"] = Training(**params["training"])
    if tree["state"].get("own_module_"):
        if module is None:
            raise InputError(
                f"{run.path} was trained with your own module, which no file holds. Pass it: "
                f"ftheta.load({str(run.path)!r}, module=my_net)"
            )
        params["module"] = module
    estimator = cls(**params)
    if "modules" in tree["state"] and module is None:
        _rehearse(cls(**params), tree["state"], f"{run.path}/model.safetensors")
    estimator.set_state(tree["state"])
    return estimator


def _rehearse(estimator: Any, state: Mapping[str, Any], where: str) -> None:
    """Make the net once where tensors take no memory: a file may name far larger sizes than it holds."""
    held = sum(tensor.numel() for tensors in state["modules"].values() for tensor in tensors.values())
    made = 0

    def count(_: nn.Module, name: str, tensor: Tensor | None) -> None:
        nonlocal made
        made += 0 if tensor is None else tensor.numel()
        if made > 4 * held + 1000:
            raise FileFormatError(f"{where}: holds {held} numbers, its net has more. It is damaged; use another copy.")

    estimator.input_, estimator.target_ = InputSpec(*state["input_"]), TargetSpec(*state["target_"])
    hooks = register_module_parameter_registration_hook(count), register_module_buffer_registration_hook(count)
    try:
        with torch.device("meta"):
            estimator._make_parts()
    finally:
        for hook in hooks:
            hook.remove()


def fill(module: nn.Module, tensors: Mapping[str, Tensor], where: str) -> None:
    """Load tensors into a module, or say which names and shapes differ."""
    own = module.state_dict()
    shapes = [
        f"{k!r} is {tuple(tensors[k].shape)}, the model needs {tuple(own[k].shape)}"
        for k in own
        if k in tensors and tensors[k].shape != own[k].shape
    ]
    missing, extra = sorted(set(own) - set(tensors)), sorted(set(tensors) - set(own))
    found = [
        *shapes,
        *([f"missing: {', '.join(missing)}"] if missing else []),
        *([f"unexpected: {', '.join(extra)}"] if extra else []),
    ]
    if found:
        raise InputError(
            f"{where} does not fit: {'; '.join(found[:4])}. Check that the module has the same layers and widths."
        )
    module.load_state_dict(dict(tensors))
