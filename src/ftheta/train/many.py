"""Train many small networks at once: same shape, other seeds, data, rates and penalties.

    θ_m <- rule(θ_m, ∇_{θ_m} Σ_m F_m(θ_m)) = rule(θ_m, ∇F_m(θ_m)),      m = 1 ... M

A step of a small network is mostly the cost of calling a few kernels, and that is paid once for all members: their
tensors are stacked, and dense layers that take them, or else `torch.func.vmap`, compute all losses in one pass. Each
member starts from its own seed, sees its own batches and stops by itself, so it ends as the network trained alone,
except for rounding; with dropout, members draw other noise. Unequal rows are filled up with rows of weight 0.

Shapes: M members, B rows per batch, x (M, B, ...), a parameter (M, ...).
"""

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf, isfinite
from typing import Any, TypeVar

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn
from torch.func import stack_module_state, vmap

from .. import optim
from ..catalog import nearest
from ..data.batch import Batch
from ..data.sources import Rows
from ..draw import Draw
from ..errors import InputError
from ._members import MembersRows, is_dense, stack_layers
from ._rules import bare_step
from .iterate import iterate
from .objective import Loss, Objective
from .placing import threads, threads_for
from .process import Steps, copied
from .progress import Progress
from .trainer import CHECK_EVERY, Trainer
from .training import Training

Estimator = TypeVar("Estimator")
DATA = ("X", "y", "sample_weight", "X_val", "y_val")
OWN = ("random_state", "lr", "batch_size", "training__l1", "training__l2")
KEPT = 2**23 - 4096  # numbers: the largest block, 32 MB, that glibc takes from its heap once one was freed
LOST = "loss or weights became nan or inf"  # why a member stopped
REFUSED = ("clip_norm", "clip_value", "ema", "grow_batch", "rate_factors", "gradient_noise", "accumulate", "precision")


def fit_many(estimator: Estimator, problems: Sequence[Mapping[str, Any]]) -> list[Estimator]:
    """Fit a copy of an estimator to each problem, all at once.

    Args:
        estimator: A neural estimator; it is cloned and stays as it is.
        problems: What `fit` takes (X, y, sample_weight, X_val, y_val), and parameters of the estimator that differ from
            problem to problem: random_state, lr, batch_size, training__l2, training__l1.

    Returns:
        The fitted estimators. One whose loss stopped being finite has its last good weights and says so in
        `stop_reason_`.

    Example:
        >>> import numpy as np
        >>> from ftheta.models import MLPRegressor
        >>> X = np.linspace(-1, 1, 30)[:, None]
        >>> problems = [{"X": X, "y": np.sin(3 * X[:, 0]), "random_state": seed} for seed in range(5)]
        >>> committee = fit_many(MLPRegressor(hidden=(20,), activation="tanh", epochs=100), problems)
        >>> np.std([member.predict(X) for member in committee], axis=0).shape
        (30,)
    """
    members: list[Any] = [_prepared(estimator, problem, number) for number, problem in enumerate(problems)]
    if not members:
        return []
    _check([member._trainer for member in members])
    stack, t = _Stack(members), members[0]._trainer.training
    torch.empty(KEPT)  # from then on glibc keeps freed blocks of this size, instead of new pages for each step
    try:
        with threads(t.threads or threads_for(stack.work)):
            iterate(stack, rounds=members[0].epochs, seconds=t.seconds, callbacks=[Progress(t.progress)])
    finally:
        stack.finish("rounds" if stack.epoch >= members[0].epochs else "seconds")
    return members


def _prepared(estimator: Any, problem: Mapping[str, Any], number: int) -> Any:
    """A copy of the estimator, ready to be trained."""
    if not hasattr(estimator, "prepare"):
        raise InputError(f"fit_many trains neural estimators, not {type(estimator).__name__}. Fit it in a loop.")
    if problem.get("X") is None:
        raise InputError(f"Problem {number} has no X; it has {', '.join(problem) or 'nothing'}. Pass its rows as 'X'.")
    own = {k: v for k, v in problem.items() if k not in DATA}
    for key in own.keys() - set(OWN):
        raise InputError(nearest("setting that differs between networks:", key, OWN))
    member: Any = clone(estimator)
    member.set_params(**own).prepare(**{k: v for k, v in problem.items() if k in DATA})
    return member


def _check(trainers: Sequence[Trainer]) -> None:
    """One sentence for what cannot be trained together."""
    first, kind, settings = trainers[0], type(trainers[0].objective), vars(trainers[0].training)
    name, normed = first.names[next(iter(first.players))], nn.modules.batchnorm._NormBase
    rows = {t.source.n for t in trainers if any(isinstance(m, normed) for m in t.objective.modules())}
    sources = [s for t in trainers for s in (t.source, t.validation) if s is not None]
    simple = not (len(first.players) > 1 or first.has_after or first.has_turns)
    refused = {
        f"{kind.__name__}, which is more than a loss of one player": not simple or kind.gradient != Objective.gradient,
        f"optimizer={name!r}, which looks at all parameters together": not optim.rule(name).elementwise,
        "a plateau": first.training.schedule == "plateau",
        "augmented batches": first.augment is not None,
        **{f"training.{k}={settings[k]}": settings[k] != getattr(Training(), k) for k in REFUSED},
        "rows that are not one tensor in memory": not all(type(s) is Rows and isinstance(s.x, Tensor) for s in sources),
        "networks of different shapes": len({str([p.shape for p in t.objective.parameters()]) for t in trainers}) > 1,
        "different numbers of batches": len({(len(t.source), len(t.validation or ())) for t in trainers}) > 1,
        "batch norms with different numbers of rows": len(rows) > 1,
    }
    if what := next((what for what, found in refused.items() if found), None):
        raise InputError(f"fit_many does not train {what}. Leave it out, or fit the problems in a loop.")


def _as(values: Tensor, p: Tensor) -> Tensor:
    """A number of each member (M,) beside a parameter (M, ...)."""
    return values.view(-1, *[1] * (p.ndim - 1))


class _Stack(Steps):
    """All members as one process; a round is an epoch of each. Members that have stopped are no longer looked at."""

    kept = ()

    def __init__(self, members: Sequence[Any]) -> None:
        self.members, self.trainers = members, [member._trainer for member in members]
        self.first: Trainer = self.trainers[0]
        self.training, self.player = self.first.training, next(iter(self.first.players))
        self.step = self.epoch = self.checked = 0
        params, buffers = stack_module_state([t.objective for t in self.trainers])
        self.tensors: dict[str, Tensor] = {**params, **buffers}  # (M, ...) each
        names = {id(p): n for n, p in self.first.objective.named_parameters()}
        problem = self.first.problems[self.player]
        self.trained = [params[names[id(p)]] for p in problem.parameters]
        self.penalized = [params[names[id(p)]] for p in problem.penalized]
        self.work = sum(p.numel() for p in self.trained if p.ndim > 2) * self.first.first_size
        self.rates, like = [t.rates.base[self.player][0] for t in self.trainers], self.trained[0]
        self.share = like.new_tensor([rate / max(self.rates) for rate in self.rates])
        self.l2, self.l1 = like.new_tensor([[t.training.l2, t.training.l1] for t in self.trainers]).T
        self.punished = bool((self.l2 + self.l1).any())
        self.optimizer = optim.make(self.first.names[self.player], self.trained, max(self.rates), self.training.options)
        self.move = bare_step(self.optimizer)
        self.base = deepcopy(self.first.objective).to("meta").train()
        self.dense = is_dense(self.first.objective, self.first.source)  # type: ignore[arg-type]
        if self.dense:
            stack_layers(self.base)
        known = {id(t): n for n, t in (*self.base.named_parameters(), *self.base.named_buffers())}
        owners: Any = [d for module in self.base.modules() for d in (module._parameters, module._buffers)]
        self.slots = [(d, key, known[id(t)]) for d in owners for key, t in d.items() if id(t) in known]
        self._set(self.tensors)
        self.rows: Any = MembersRows([t.source for t in self.trainers], weighed=self.dense)
        self.fixed = None if len(self.first.source) > 1 else next(self._batches())
        held: Any = [t.validation for t in self.trainers if t.validation is not None]
        self.held = [*MembersRows(held, weighed=self.dense).batches([Draw(0)] * len(held))] if held else []
        self.chosen = copied(self.tensors)  # what each member ends with: of its best epoch, or of the last check
        self.best, self.reasons = [(inf, 0)] * len(members), [""] * len(members)
        self.places, self.log = [], []  # of each epoch: its numbers, and the table of all members
        self.active, self.ends = list(range(len(members))), [0] * len(members)
        self.clock, self.sums = time.perf_counter(), []  # of the batches of an epoch: Σ w l and Σ w, (2, M)
        self.restoring = bool(members[0].patience and self.held and self.training.restore_best)

    def _batches(self) -> Any:
        return self.rows.batches([t.draw.at("order", self.epoch) for t in self.trainers])

    def advance(self) -> dict[str, float] | None:
        """One update of every member; at the end of an epoch the mean of their rows."""
        first, t, position = self.first, self.training, self.step % len(self.first.source)
        if not position and self.fixed is None:
            self.stream = self._batches()
        draw = first.draw.at("train", self.step)
        for p in self.trained:
            p.grad = None
        with first.drawing.scope(draw):
            loss = self._each(self.fixed or next(self.stream), draw, "loss", self.player)["loss"]
            loss.total.backward(loss.weight.reciprocal())  # type: ignore[union-attr]
        if self.punished:
            self._add_slopes()
        self.sums.append(torch.stack([loss.total.detach(), loss.weight]))  # type: ignore[list-item]
        self.factor = optim.factor(t.schedule, self.step, first.rates.horizon or 1, t.warmup, t.schedule_options)
        self.optimizer.param_groups[0]["lr"] = max(self.rates) * self.factor
        before = [p.detach().clone() for p in self.trained] if min(self.rates) < max(self.rates) else []
        self.move()
        for p, old in zip(self.trained, before, strict=False):  # a step is linear in the rate
            p.data = old.lerp_(p.data, _as(self.share, p))
        self.step += 1
        return self._end_epoch() if position == len(first.source) - 1 else None

    def _each(self, batch: Batch, draw: Draw, what: str, *before: str) -> dict[str, Loss]:
        """What the objective of each member gives, by name: totals and weights (M,)."""

        def one(*values: Any) -> dict[str, Any]:
            self._set(dict(zip(self.tensors, values, strict=False)))
            return of(Batch(*values[len(self.tensors) :]))

        def of(batch: Batch) -> dict[str, Any]:
            found = getattr(self.base, what)(*before, batch, draw)
            named = {"loss": found} if isinstance(found, Loss) else found
            if any(f.once is not None for f in named.values()):
                raise InputError("fit_many does not train a penalty function. Fit the problems in a loop.")
            return {name: (f.total, torch.as_tensor(f.weight).to(f.total)) for name, f in named.items()}

        if self.dense:
            return {name: Loss(*values) for name, values in of(batch).items()}
        axes = (0,) * len(self.tensors) + tuple(None if part is None else 0 for part in batch[:3])
        found = vmap(one, axes, randomness="different")(*self.tensors.values(), *batch[:3])
        return {name: Loss(*values) for name, values in found.items()}

    def _set(self, tensors: Mapping[str, Tensor]) -> None:
        """What `functional_call` does, in a fraction of its time."""
        for owner, key, name in self.slots:
            owner[key] = tensors[name]

    def _penalty(self) -> Tensor:
        """l2 Σ θ² + l1 Σ |θ| of each member: (M,)."""
        flat = torch.cat([p.flatten(1) for p in self.penalized], 1)
        return self.l2 * flat.square().sum(1) + self.l1 * flat.abs().sum(1)

    def _add_slopes(self) -> None:
        """The gradient of the penalty: 2 l2 θ + l1 sign θ."""
        for p in self.penalized:
            slope = _as(2 * self.l2, p) * p.detach() + _as(self.l1, p) * p.detach().sign()
            p.grad = slope if p.grad is None else p.grad.add_(slope)

    @torch.no_grad()
    def _columns(self) -> dict[str, Tensor]:
        """Loss, penalty and what validation reports: (M,) each."""
        total, weight = torch.stack(self.sums).double().sum(0)
        columns, sums = {"loss": total / weight}, {}
        if self.punished:
            columns["penalty"] = self._penalty()
        if self.held:
            self.base.eval()
        for batch in self.held:
            for name, loss in self._each(batch, self.first.draw.at("valid", self.epoch), "evaluate").items():
                sums[name] = sums.get(name, 0.0) + torch.stack([loss.total, loss.weight]).double()  # type: ignore[list-item]
        if self.held:
            self.base.train()
        return columns | {f"valid_{name}": total / weight for name, (total, weight) in sums.items()}

    def _end_epoch(self) -> dict[str, float]:
        self.names, values = zip(*self._columns().items(), strict=True)
        table, self.epoch, self.sums = torch.stack(values), self.epoch + 1, []  # (columns, M)
        at = {"epoch": self.epoch, "step": self.step, "seconds": time.perf_counter() - self.clock}
        self.places.append((*at.values(), self.factor))
        self.log.append(table)
        if self.members[0].patience:
            self._stop_early("valid_loss" if self.held else "loss", table)
        left = table if len(self.active) == len(self.members) else table[:, self.active]
        means = left.mean(1).tolist()
        if self.step - self.checked >= CHECK_EVERY or not all(map(isfinite, means)):
            self._check_finite()
            means = left[:, left.isfinite().all(0)].mean(1).tolist()
        self.reason = "" if self.active else "every member has stopped"
        means = {name: mean for name, mean in zip(self.names, means, strict=True) if isfinite(mean)}
        return {**at, "members": len(self.active), **means}

    # ---- stopping

    def _keep(self, members: Sequence[int]) -> None:
        for name, chosen in self.chosen.items():
            chosen[members] = self.tensors[name].detach()[members]

    def _stop(self, m: int, reason: str) -> None:
        self.active.remove(m)
        self.reasons[m], self.ends[m] = reason, self.epoch

    def _stop_early(self, column: str, table: Tensor) -> None:
        """As `EarlyStopping` does, for each member by itself."""
        t, patience, values = self.training, self.members[0].patience, table[self.names.index(column)].tolist()
        counted = self.active if self.epoch >= t.start else []
        better = [m for m in counted if values[m] < self.best[m][0] - t.min_delta]
        worn = [m for m in counted if m not in better and self.epoch - self.best[m][1] >= patience]
        self.best = [(values[m], self.epoch) if m in better else best for m, best in enumerate(self.best)]
        self._keep(better if self.restoring else worn)
        for m in worn:
            self._stop(m, f"no better {column} for {patience} rounds; best was round {self.best[m][1]}")

    def _check_finite(self) -> None:
        """Members whose numbers are not finite leave, with the weights of the last check."""
        fine = torch.stack([p.detach().flatten(1).isfinite().all(1) for p in self.trained]).all(0)
        for table in self.log[-1:]:
            fine &= table[0].isfinite()
        for m in [m for m in self.active if not fine[m]]:
            where, rate = f"by step {self.step}; last good state: step {self.checked}", self.rates[m]
            self._stop(m, f"{LOST} {where}. Try lr={rate / 10:.3g} (now {rate:.3g})")
        self._keep([m for m in self.active if not self.restoring or not self.best[m][1]])
        self.checked = self.step

    def finish(self, reason: str) -> None:
        self._check_finite()
        for m in list(self.active):
            self._stop(m, reason)
        tables = torch.stack(self.log).numpy() if self.log else np.empty(0)  # (epochs, columns, M)
        places = np.array(self.places).reshape(-1, 4)
        for m, (member, trainer) in enumerate(zip(self.members, self.trainers, strict=True)):
            trainer.objective.set_weights({name: self.chosen[name][m] for name in trainer.objective.state_dict()})
            member.history_ = self._history(m, places[: self.ends[m]], tables[: self.ends[m], :, m]) if self.log else []
            member.n_iter_, member.stop_reason_ = len(member.history_), self.reasons[m]
            member.module_.eval()
            trainer.step, trainer.epoch = self.ends[m] * len(trainer.source), member.n_iter_
            trainer.drop_data()

    def _history(self, m: int, places: np.ndarray, table: np.ndarray) -> list[dict[str, float]]:
        """The rows of a member as its trainer alone would write them, without those whose numbers are not finite."""
        t, (epochs, steps, seconds, factors) = self.trainers[m], places.T
        values = dict(zip(self.names, table.T, strict=True))
        own = ["loss", "penalty"] if t.training.l2 or t.training.l1 else ["loss"]
        columns = {"epoch": epochs.astype(int), "step": steps.astype(int), "rows": epochs.astype(int) * t.source.n}
        columns |= {"seconds": seconds, **{name: values[name] for name in own}, "lr": self.rates[m] * factors}
        columns |= {name: value for name, value in values.items() if name.startswith("valid_")}
        fine = np.isfinite([*columns.values()]).all(0)
        rows = zip(*(column[fine].tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]
