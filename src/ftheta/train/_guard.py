"""Which number is not finite, and where it came from.

The trainer checks every 100 steps whether everything is finite. When it is not, the steps since the last good state are
replayed, and each tensor is checked, so that the message can name the first that went wrong.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from math import isfinite
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from ..draw import GENERATORS
from ..errors import NonFiniteError


def all_finite(tree: Any) -> bool:
    """Whether every floating tensor in a tree is finite: its ends are, and NaN is at both; one synchronization."""
    ends = [e.double() for t in _tensors(tree) if t.is_floating_point() and t.numel() for e in t.detach().aminmax()]
    return not ends or bool(torch.stack([e.cpu() if e.device.type != "cpu" else e for e in ends]).isfinite().all())


def _tensors(tree: Any) -> Iterator[Tensor]:
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from _tensors(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _tensors(value)


def explain(trainer: Any, good: Any) -> NoReturn:
    """Replay from the last good state and raise the error that names the first bad tensor."""
    place, last = f"epoch {trainer.epoch + 1}, step {trainer.step}", trainer.step
    rates = [group["lr"] for o in trainer.optimizers.values() for group in o.param_groups]
    rate = next((r for r in rates if not isfinite(r)), rates[0])
    if good is not None:
        trainer.load_state_dict(good)
    start = trainer.step
    if not isfinite(rate):
        raise NonFiniteError(f"The learning rate became {rate} by {place}. Last good state: step {start}.")
    if good is None:
        raise NonFiniteError(f"A number that is not finite appeared by {place}. {_advice(trainer, rate)}")
    while trainer.step < last:
        place = f"epoch {trainer.epoch + 1}, step {trainer.step + 1}"
        found, rows = _replay_step(trainer)
        if found:
            trainer.load_state_dict(good)
            advice = f"First bad tensor: {found[0]}. Last good state: step {start}. {_advice(trainer, rate)}"
            raise NonFiniteError(f"Loss became {found[1]} at {place} (batch rows {rows}). {advice}")
    raise NonFiniteError(f"A number that is not finite appeared by step {last}, but not again when repeated.")


def _advice(trainer: Any, rate: float) -> str:
    clip = "" if trainer.training.clip_norm or trainer.closures else " or clip_norm=1"
    return f"Try lr={rate / 10:.3g} (now {rate:.3g}){clip}."


def _replay_step(trainer: Any) -> tuple[tuple[str, str] | None, str]:
    batches = trainer._take()
    if trainer.rates.moving:
        trainer.rates.set(trainer.step)
    rows = _rows(batches)
    found = _bad_rows(batches)
    seen: list[tuple[str, str]] = []
    with _watch(trainer.objective, seen), GENERATORS, warnings.catch_warnings(action="ignore"):
        try:  # the lock: filters of warnings and the detection of anomalies belong to the process
            with torch.autograd.detect_anomaly():
                trainer._update(batches)
        except RuntimeError as error:
            seen.append((f"gradient ({str(error).split('.')[0]})", "nan"))
    found = found or (seen[0] if seen else _after_update(trainer))
    trainer.step += 1
    if trainer.position >= trainer.length:
        trainer.epoch += 1
        trainer._begin_epoch()
    return found, rows


def explain_validation(trainer: Any) -> NoReturn:
    """Evaluate the validation rows again and raise the error that names the first bad tensor."""
    draw, place = trainer.draw.at("valid", trainer.epoch), f"epoch {trainer.epoch + 1}, step {trainer.step}"
    trainer.objective.eval()
    for i, batch in enumerate(trainer.validation.batches(0, 0, draw.at("order"))):
        seen: list[tuple[str, str]] = []
        with torch.no_grad(), _watch(trainer.objective, seen), trainer.drawing.scope(draw.at(i), training=False):
            losses = trainer.objective.evaluate(batch, draw.at(i))
        sums = {f"the {name}": [loss.total, loss.weight] for name, loss in losses.items()}
        if found := _bad_rows([batch]) or next(iter(seen), None) or _first(sums.items()):
            trainer.train_mode()
            raise NonFiniteError(
                f"The validation loss became {found[1]} after {place} (validation rows {_rows([batch])}). First bad "
                f"tensor: {found[0]}. The weights are finite. Check these rows, or try a smaller lr."
            )
    raise NonFiniteError(f"The validation loss was not finite after {place}, but it is when it is computed again.")


def _bad_rows(batches: Any) -> tuple[str, str] | None:
    """The first part of some batches that is not finite."""
    fields = {"input x": "x", "target y": "y", "weight": "weight"}
    return _first((name, getattr(batch, part)) for batch in batches for name, part in fields.items())


def _after_update(trainer: Any) -> tuple[str, str] | None:
    named = [(_short(name), p) for name, p in trainer.objective.named_parameters()]
    gradients = {f"gradient of {name}": p.grad for name, p in named}
    rest = {_short(name): buffer for name, buffer in trainer.objective.named_buffers()} | {"the loss": trainer.sums}
    rest["state of the optimizer"] = [o.state for o in trainer.optimizers.values()]
    return _first([*gradients.items(), *((f"{name} after the update", p) for name, p in named), *rest.items()])


def _first(named: Iterable[tuple[str, Any]]) -> tuple[str, str] | None:
    """The first that is not finite, and "nan" or "inf"."""
    return next(((name, value) for name, tree in named if (value := _bad(tree))), None)


def _watch(objective: nn.Module, seen: list[tuple[str, str]]) -> ExitStack:
    def see(name: str, module: nn.Module, args: Any, output: Any) -> None:
        if value := _bad(output):
            seen.append((f"output of {_short(name)}", value))

    hooks = ExitStack()
    for name, module in objective.named_modules():
        if name and not list(module.children()):
            hooks.enter_context(module.register_forward_hook(partial(see, name)))
    return hooks


def _bad(value: Any) -> str:
    """ "nan" or "inf" if a tensor holds one, else the empty string."""
    for tensor in _tensors(value):
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            return "nan" if bool(tensor.isnan().any()) else "inf"
    return ""


def _rows(batches: Any) -> str:
    if batches[0].index is None:
        return f"0-{batches[0].n - 1}"
    index = torch.cat([b.index for b in batches]).tolist()
    return ", ".join(map(str, index[:8])) + (f", ... {len(index)} in all" if len(index) > 8 else "")


def _short(name: str) -> str:
    return name.removeprefix("module.")


def lone_row(trainer: Any) -> str:
    """The sentence for a batch of one row, of which a batch norm can take no variance."""
    norm = next(m for m in trainer.objective.modules() if isinstance(m, nn.modules.batchnorm._NormBase))
    n, size = getattr(trainer.source, "n", 0), getattr(trainer.source, "batch_size", 0)
    where = f" (last batch of {n} with batch_size={size})" if n > 1 else ""
    better = next((b for b in range(size + 1, n + 1) if n % b != 1), 0)
    advice = f"Use batch_size={better}." if better else "Give it batches of at least 2 rows."
    return f"Batch of 1 sample reaches {type(norm).__name__} in training{where}. {advice}"
