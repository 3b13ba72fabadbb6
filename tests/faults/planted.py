"""The list of planted faults: file, what stands there, what is put instead, and the tests that must notice."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """One planted fault; `old` stands exactly once in the file."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


LIKELIHOODS = ("tests/likelihoods", "tests/contract/test_likelihood.py")
OBJECTIVE = ("tests/train/test_objective.py", "tests/train/test_problem.py", "tests/contract/test_objective.py")
TRAINER = ("tests/train",)
TABLES = ("tests/data/test_columns.py", "tests/data/test_table.py", "tests/data/test_encoded.py")
MEASURE = ("tests/measure",)
OPTIM = ("tests/optim",)
STORE = ("tests/store",)
MODELS = ("tests/models", "tests/contract/test_estimator.py")

FAULTS = [
    # ---- likelihoods
    Fault(
        "gaussian: lost factor 1/2",
        "likelihoods/gaussian.py",
        "/ self.scale).square() / 2 + self.constant",
        "/ self.scale).square() + self.constant",
        LIKELIHOODS,
    ),
    Fault(
        "gaussian: lost constant in the fused sum",
        "likelihoods/gaussian.py",
        "+ raw.numel() * self.constant",
        "+ self.constant",
        LIKELIHOODS,
    ),
    Fault(
        "gaussian: residual of the wrong sign",
        "likelihoods/gaussian.py",
        "return (raw - self._aligned(raw, y)) / self.scale",
        "return (self._aligned(raw, y) - raw) / self.scale",
        LIKELIHOODS,
    ),
    Fault(
        "learned gaussian: exp(half) for exp(-half)",
        "likelihoods/gaussian.py",
        "((raw - y) * (-half).exp())",
        "((raw - y) * half.exp())",
        LIKELIHOODS,
    ),
    Fault(
        "heteroscedastic: log variance not halved",
        "likelihoods/gaussian.py",
        ".square() + variance.log()) / 2",
        ".square() + 2 * variance.log()) / 2",
        LIKELIHOODS,
    ),
    Fault(
        "heteroscedastic: curvature without its factor",
        "likelihoods/gaussian.py",
        "(s.sigmoid() / variance).square() / 2",
        "(s.sigmoid() / variance).square()",
        LIKELIHOODS,
    ),
    Fault(
        "bernoulli: labels swapped",
        "likelihoods/bernoulli.py",
        "y * softplus(-raw) + (1 - y) * softplus(raw)",
        "y * softplus(raw) + (1 - y) * softplus(-raw)",
        LIKELIHOODS,
    ),
    Fault(
        "bernoulli: probabilities of the classes swapped",
        "likelihoods/bernoulli.py",
        "torch.cat((-raw, raw), -1)",
        "torch.cat((raw, -raw), -1)",
        LIKELIHOODS,
    ),
    Fault(
        "bernoulli: curvature p instead of p(1-p)",
        "likelihoods/bernoulli.py",
        "raw.sigmoid() * (-raw).sigmoid()",
        "raw.sigmoid()",
        LIKELIHOODS,
    ),
    Fault(
        "categorical: softmax over the wrong axis",
        "likelihoods/categorical.py",
        "return raw.softmax(-1)",
        "return raw.softmax(0)",
        LIKELIHOODS,
    ),
    Fault(
        "categorical: curvature without the outer product",
        "likelihoods/categorical.py",
        "return p.diag_embed() - p.unsqueeze(-1) * p.unsqueeze(-2)",
        "return p.diag_embed()",
        LIKELIHOODS,
    ),
    Fault(
        "categorical: mean for a sum",
        "likelihoods/categorical.py",
        'return F.cross_entropy(raw, y, reduction="sum")',
        'return F.cross_entropy(raw, y, reduction="mean")',
        LIKELIHOODS,
    ),
    # ---- objectives and the problem of one update
    Fault(
        "loss: weight of rows forgotten",
        "train/objective.py",
        "return batch.sum(likelihood.nll(raw, batch.y))",
        "return batch._replace(weight=None).sum(likelihood.nll(raw, batch.y))",
        OBJECTIVE + MODELS,
    ),
    Fault(
        "loss: one row for the whole batch",
        "train/objective.py",
        "float(raw.numel() // raw.shape[-1])",
        "1.0",
        OBJECTIVE,
    ),
    Fault("accuracy: any label instead of all", "train/objective.py", "hits.all(-1)", "hits.any(-1)", OBJECTIVE),
    Fault(
        "constants are trained",
        "train/objective.py",
        "if p.requires_grad and id(p) not in fixed",
        "if p.requires_grad",
        OBJECTIVE + TRAINER,
    ),
    Fault(
        "constants in training mode",
        "train/objective.py",
        "getattr(self, name).eval()",
        "getattr(self, name).train(mode)",
        OBJECTIVE + TRAINER,
    ),
    Fault(
        "weights are not copied",
        "train/objective.py",
        "return {k: v.detach().clone() for k, v in own.items()}",
        "return {k: v.detach() for k, v in own.items()}",
        TRAINER,
    ),
    Fault("l2 without its factor 2", "train/problem.py", "alpha=2 * t.l2", "alpha=t.l2", OBJECTIVE + TRAINER),
    Fault(
        "l1 of the wrong sign",
        "train/problem.py",
        "sign(), alpha=t.l1)",
        "sign(), alpha=-t.l1)",
        OBJECTIVE + TRAINER,
    ),
    Fault("biases are penalised", "train/problem.py", "return p.ndim >= 2 or", "return True or", OBJECTIVE + TRAINER),
    Fault(
        "accumulated gradients are not divided",
        "train/problem.py",
        "grad.div_(weight)",
        "grad.div_(1)",
        OBJECTIVE + TRAINER,
    ),
    Fault(
        "noise differs between micro-batches of no one",
        "train/problem.py",
        "draw = self.draw.at(micro)",
        "draw = self.draw",
        OBJECTIVE + TRAINER,
    ),
    Fault(
        "gradients of the last step stay",
        "train/problem.py",
        "            p.grad = None\n",
        "            pass\n",
        OBJECTIVE + TRAINER,
    ),
    Fault(
        "players back-propagate into each other",
        "train/problem.py",
        "self.inputs = self.parameters if others else None",
        "self.inputs = None",
        OBJECTIVE + TRAINER,
    ),
    # ---- trainer, loop, callbacks
    Fault(
        "schedule one step late",
        "train/trainer.py",
        "self._shape(self.step, t.warmup)",
        "self._shape(self.step + 1, t.warmup)",
        TRAINER,
    ),
    Fault(
        "validation in training mode", "train/trainer.py", "    objective.eval()\n", "    objective.train()\n", TRAINER
    ),
    Fault(
        "alternating players move together",
        "train/trainer.py",
        "                if not together:\n                    optim.step(self.optimizers[name])",
        "                if together:\n                    optim.step(self.optimizers[name])",
        TRAINER,
    ),
    Fault(
        "order of the rows is the same in every epoch",
        "train/trainer.py",
        'self.draw.at("order", self.epoch)',
        'self.draw.at("order", 0)',
        TRAINER + ("tests/contract/test_source.py",),
    ),
    Fault(
        "optimizer state is not restored",
        "train/trainer.py",
        "            self.optimizers[name].load_state_dict(_copied(state))\n",
        "            pass\n",
        TRAINER,
    ),
    Fault("sums of the epoch are not restored", "train/trainer.py", '_copied(tree["sums"])', "{}", TRAINER),
    Fault("guard never looks", "train/trainer.py", "if self.step - self._looked >= LOOK:", "if False:", TRAINER),
    Fault(
        "early stopping restores nothing",
        "train/callbacks.py",
        'if self.state["weights"] is not None:',
        "if False:",
        TRAINER,
    ),
    Fault(
        "early stopping: patience off by one", "train/callbacks.py", ">= self.patience:", "> self.patience:", TRAINER
    ),
    Fault(
        "early stopping keeps the worst",
        "train/callbacks.py",
        'if value < self.state["best"] - self.min_delta:',
        'if value > self.state["best"] - self.min_delta:',
        TRAINER,
    ),
    Fault(
        "callbacks' state is not restored",
        "train/iterate.py",
        "            callback.state = state\n",
        "            pass\n",
        TRAINER,
    ),
    Fault(
        "checkpoint before the callbacks' turn",
        "train/iterate.py",
        '"round": context.round,',
        '"round": context.round + 1,',
        TRAINER,
    ),
    # ---- store
    Fault(
        "no fsync before the rename",
        "store/files.py",
        "                write_all(fd, data)\n                os.fsync(fd)\n",
        "                write_all(fd, data)\n",
        STORE,
    ),
    Fault(
        "the folder is not synchronised",
        "store/files.py",
        "        sync_folder(path.parent)\n    return sha256(data)",
        "    return sha256(data)",
        STORE,
    ),
    Fault(
        "digest is not compared",
        "store/_manifest.py",
        'if got not in (want, *mark.get("also", ())):',
        "if False:",
        STORE,
    ),
    Fault(
        "written in place",
        "store/files.py",
        'temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")',
        "temporary = path",
        STORE,
    ),
    Fault(
        "metrics are not rewound",
        "store/run.py",
        '            self._cut_log(kept[-1]["metrics"]["bytes"] if kept else 0)\n',
        "",
        STORE,
    ),
    Fault(
        "checkpoints go before the run is sealed",
        "store/run.py",
        "                self._save(manifest)\n                self._close_log()\n                self._tidy(manifest)\n",
        "                self._tidy(manifest)\n                self._save(manifest)\n                self._close_log()\n",
        STORE,
    ),
    Fault(
        "a short write counts as whole",
        "store/files.py",
        "def write_all(fd: int, data: bytes) -> None:",
        "def write_all(fd: int, data: bytes) -> None:\n    os.write(fd, data)\n    return\n\n\ndef _unused(fd: int, data: bytes) -> None:",
        STORE,
    ),
    # ---- estimators
    Fault(
        "y is not standardised",
        "models/_supervised.py",
        "return rows._replace(y=(rows.y - self.y_mean_) / self.y_scale_)",
        "return rows",
        MODELS,
    ),
    Fault(
        "answers not in the units of y",
        "models/_supervised.py",
        "* self.y_scale_ + self.y_mean_).astype(dtype)",
        "+ self.y_mean_).astype(dtype)",
        MODELS,
    ),
    Fault(
        "log-density not in the units of y",
        "models/_supervised.py",
        "+ float(np.sum(np.log(self.y_scale_)))",
        "- float(np.sum(np.log(self.y_scale_)))",
        MODELS,
    ),
    Fault(
        "equal rows lose their weights",
        "models/_rows.py",
        "np.bincount(inverse.ravel(), weights=rows.weight,",
        "np.bincount(inverse.ravel(),",
        MODELS,
    ),
    Fault(
        "balanced weights upside down",
        "models/_rows.py",
        "counts.sum() / (len(classes) * np.maximum(counts, np.finfo(float).tiny))",
        "counts / counts.sum()",
        MODELS,
    ),
    Fault(
        "newton: penalty on the intercept",
        "models/logistic.py",
        "x.new_zeros(1)])",
        "x.new_full((1,), 2 * l2)])",
        MODELS,
    ),
    Fault(
        "newton: curvature with its axes swapped",
        "models/_softmax.py",
        "permute(1, 2, 0, 3)",
        "permute(0, 3, 1, 2)",
        MODELS,
    ),
    # ---- data and draw
    Fault(
        "batch: weights are not summed",
        "data/batch.py",
        "return torch.dot(weight, each), weight.sum()",
        "return torch.dot(weight, each), float(len(each))",
        ("tests/data", *OBJECTIVE),
    ),
    Fault(
        "rows: a tail that differs from the whole",
        "data/sources.py",
        "for low in range(start * self.batch_size, self.n, span):",
        "for low in range(start, self.n, span):",
        ("tests/data", "tests/contract/test_source.py"),
    ),
    Fault(
        "draw: the stream's name is ignored",
        "draw.py",
        "repr((self.seed, self.path, stream))",
        "repr((self.seed, self.path))",
        ("tests/test_draw.py",),
    ),
    Fault(
        "draw: the old state is not put back",
        "draw.py",
        "            torch.set_rng_state(saved[0])\n",
        "",
        ("tests/test_draw.py",),
    ),
    # ---- data in, numbers out
    Fault(
        "csv: a decimal comma is dropped",
        "data/_cells.py",
        '.replace(",", ".")',
        '.replace(",", "")',
        ("tests/data/test_delimited.py",),
    ),
    Fault(
        "csv: short rows pass",
        "data/delimited.py",
        "if frame.iloc[:, -1].isna().any() and not",
        "if False and not",
        ("tests/data/test_delimited.py",),
    ),
    Fault(
        "csv: a late text cell is lost",
        "data/delimited.py",
        'frame = _pandas(file, dict.fromkeys(kinds, "category"), target)',
        "raise",
        ("tests/data/test_delimited.py",),
    ),
    Fault(
        "levels: a new level is the first one",
        "data/_columns.py",
        "other = len(self.levels) if self.rare else -1",
        "other = len(self.levels) if self.rare else 0",
        TABLES,
    ),
    Fault(
        "numbers: missing cells are not marked",
        "data/_columns.py",
        "            out[:, 1] = gone",
        "            out[:, 1] = 0",
        TABLES,
    ),
    Fault("dates: a year of 360 days", "data/_columns.py", '"year": 365.2425', '"year": 360.0', TABLES),
    Fault(
        "encoded: codes are off by a column",
        "data/table.py",
        "codes.dtype.type(start[j])",
        "codes.dtype.type(start[j] + 1)",
        TABLES,
    ),
    Fault(
        "splits: a class is forgotten",
        "data/splits.py",
        "quota = _quotas(np.bincount(code), count, fraction)",
        "quota = _quotas(np.bincount(code), count, fraction) * 0 + count",
        ("tests/data/test_splits.py",),
    ),
    Fault("log loss in bits", "measure/metrics.py", "return -np.log(", "return -np.log2(", MEASURE),
    Fault("Brier of two classes is doubled", "measure/metrics.py", "/ (2 if p.shape[1] == 2 else 1)", "/ 1", MEASURE),
    Fault("ROC: ties count as wins", "measure/_sweep.py", "(tp - np.diff(tp, axis=0, prepend=0) / 2)", "tp", MEASURE),
    Fault(
        "conformal: one row too few",
        "measure/conformal.py",
        "(len(r) + 1) * level_of(level)",
        "len(r) * level_of(level)",
        MEASURE,
    ),
    Fault("McNemar one-sided", "measure/compare.py", "min(1.0, 2 * bdtr(", "min(1.0, bdtr(", MEASURE),
    Fault(
        "t with n degrees of freedom",
        "measure/compare.py",
        "stdtr(len(d) - 1, -abs(t))",
        "stdtr(len(d), -abs(t))",
        MEASURE,
    ),
    Fault(
        "report: user text is not escaped",
        "report/page.py",
        "<title>{escape(title)}</title>",
        "<title>{title}</title>",
        ("tests/report/test_page.py",),
    ),
    # ---- optimisers
    Fault(
        "Polak-Ribière without the old gradient",
        "optim/conjugate.py",
        'g @ (g - old if self.beta == "polak-ribiere" else g)',
        "g @ g",
        OPTIM,
    ),
    Fault("L-BFGS: loops in one order", "optim/lbfgs.py", "zip(pairs, reversed(alphas)", "zip(pairs, alphas", OPTIM),
    Fault("L-BFGS: scale upside down", "optim/lbfgs.py", "r.div_(rho * (y @ y))", "r.mul_(rho * (y @ y))", OPTIM),
    Fault("average: weights swapped", "optim/ema_momentum.py", '1 - group["beta"])', 'group["beta"])', OPTIM),
    Fault("inverse square root: end not squared", "optim/schedules.py", "1 / end**2 - 1", "1 / end - 1", OPTIM),
    Fault(
        "gain: the model's curvature adds",
        "optim/_curved.py",
        "float(-(model.g @ d) - d @ (model.B @ d) / 2)",
        "float(-(model.g @ d) + d @ (model.B @ d) / 2)",
        OPTIM,
    ),
    Fault(
        "decay of the penalty halved",
        "train/_curvature.py",
        "strength = {id(p) for p in self.penalised}, 2 * self.training.l2",
        "strength = {id(p) for p in self.penalised}, self.training.l2",
        TRAINER,
    ),
    Fault(
        "Fisher matrix without weights",
        "train/_curvature.py",
        "w[:, None, None] * curvature(raw)",
        "curvature(raw)",
        TRAINER,
    ),
    Fault("the batch grows with the steps", "train/trainer.py", "done = self.epoch * ", "done = self.step * ", TRAINER),
    Fault(
        "a stack is clipped as a whole",
        "train/_stack.py",
        "scale = (t.clip_norm / (norm + 1e-6)).clamp(max=1.0)",
        "scale = (t.clip_norm / (norm.norm() + 1e-6)).clamp(max=1.0).expand_as(norm)",
        TRAINER,
    ),
    Fault(
        "SGD's modified loss by the batch size",
        "formulas/backward_error.py",
        "(each - mean).square().sum() / len(fs)",
        "(each - mean).square().sum() / 2",
        ("tests/formulas/test_backward_error.py",),
    ),
    Fault(
        "filters are not normalised",
        "explain/_directions.py",
        "scale = rows.norm(dim=1, keepdim=True) / ",
        "scale = rows.norm() / ",
        ("tests/explain/test_directions.py", "tests/explain/test_landscape.py"),
    ),
    Fault(
        "stability limit 1/λ",
        "explain/learning_rate.py",
        "return 2 / self.sharpness if",
        "return 1 / self.sharpness if",
        ("tests/explain/test_learning_rate.py",),
    ),
    Fault(
        "range test: loss before the update",
        "explain/learning_rate.py",
        "losses[1:]",
        "losses[:-1]",
        ("tests/explain/test_learning_rate.py",),
    ),
    Fault(
        "barrier above the lower end",
        "explain/line.py",
        "self.excess[(self.t >= 0) & (self.t <= 1)].max()",
        "(self.loss - min(self.ends))[(self.t >= 0) & (self.t <= 1)].max()",
        ("tests/explain/test_line.py",),
    ),
]
