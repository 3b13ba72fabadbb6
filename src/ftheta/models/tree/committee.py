"""Committees: the weighted mean of several models.

    f(x) = Σ_l w_l f_l(x),   Σ w_l = 1;      E_COM = mean (f - y)²  <=  E_AVG = Σ w_l mean (f_l - y)²

    equal     w_l = 1 / L
    optimal   numbers: the smallest wᵀ C w, C the products of the members' errors; classes: the largest
              Σ_i log Σ_l w_l p_l(y_i | x_i); w >= 0, by predictions for rows of other folds (stacking)
    bagging   each member learns from n rows drawn with replacement

For classes f and y are probabilities, and the error is the sum over the classes.
Shapes: n rows, D features, L members, K classes, T targets.
Reference: Perrone and Cooper, When networks disagree (1993); Breiman, Stacked regressions, Machine Learning 24 (1996).
"""

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from ... import catalog
from ...check import RandomState
from ...draw import Draw, seed_of
from ...errors import InputError
from ...selection import Space
from ...tasks import TASKS
from .._base.files import revived
from .._base.plain import Plain, PlainRegressor, Rows
from .grown import Probable, keys

FOLDS, FEWEST, SWEEPS = 5, 20, 200  # FEWEST: different rows from which weights are learned
NAME = "committee"


def committee_weights(
    errors: ArrayLike, *, sample_weight: ArrayLike | None = None, negative: bool = True
) -> np.ndarray:
    """Weights (L,) with the sum 1 and the least mean squared error of the weighted sum.

    C w = λ 1, w = C⁻¹ 1 / 1ᵀ C⁻¹ 1,   C_lm = mean e_l e_m;   with `negative=False` under w >= 0.

    Args:
        errors: Errors of the members (n, L).
        sample_weight: Weights of the rows (n,).
        negative: Whether weights may be below 0.

    Example:
        >>> committee_weights([[1.0, 0], [0, 2], [-1, 0], [0, -2]]).round(3).tolist()
        [0.8, 0.2]
    """
    e = np.asarray(errors, dtype=float)
    weight = np.ones(len(e)) if sample_weight is None else sample_weight
    c = (e.T * weight) @ e / np.sum(weight)
    c += 1e-10 * max(np.trace(c) / len(c), np.finfo(float).tiny) * np.eye(len(c))  # equal members share
    if negative:
        w = np.linalg.solve(c, np.ones(len(c)))
        return w / w.sum()
    scale = np.sqrt(np.trace(c))
    rows = np.vstack([np.linalg.cholesky(c).T, np.full(len(c), 1e4 * scale)])
    w, _ = nnls(rows, np.append(np.zeros(len(c)), 1e4 * scale))
    return w / w.sum()


def mixture_weights(p: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights (L,) that give the truths the largest likelihood, by EM; p (n, L) are their probabilities."""
    w = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(SWEEPS):
        share = p * w
        w = weight @ (share / np.maximum(share.sum(1, keepdims=True), np.finfo(float).tiny)) / weight.sum()
    return w / w.sum()


class _Committee(Plain):
    """Several models of the catalog. Learned: members_, weights_ (L,), seed_.

    Args:
        members: Names of models; one that is named several times starts from another seed each time.
        weights: equal, or optimal by cross-validation.
        bagging: Whether each member learns from rows drawn with replacement.
        random_state: Seed; None takes fresh entropy, kept in `seed_`.
    """

    members: tuple[str, ...] = ("linear", "forest", "boosting")
    weights: Literal["equal", "optimal"] = "optimal"
    bagging: bool = False
    random_state: RandomState = None

    space: ClassVar[Space] = {"weights": ["equal", "optimal"], "bagging": [False, True]}
    plain_mean: ClassVar[Mapping[str, Any]] = {"weights": "equal"}  # settings with which it is the mean of its members

    how_fitted: ClassVar[str] = "Each member was trained by itself; their predictions are averaged."

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train each member, and learn how much each counts."""
        rows: Rows = self._learned(X, y, sample_weight)  # type: ignore[attr-defined]
        self.seed_ = seed_of(self.random_state)
        if not len(self.members):
            raise InputError("members is empty. Name at least one model, e.g. members=('linear', 'forest').")
        self.members_ = [self._fitted(k, rows) for k in range(len(self.members))]
        self.weights_ = np.full(len(self.members), 1 / len(self.members))
        if self.weights == "optimal" and len(self.members) > 1:
            self.weights_ = self._learned_weights(rows)
        return self

    def _member(self, k: int, rows: int) -> Any:
        """Member k with the defaults that its training by itself on so many rows would have, and a seed of its own."""
        task, name = "classify" if is_classifier(self) else "regress", self.members[k]
        if name == NAME:
            raise InputError(f"members={self.members}: a committee is not a member of a committee. Name other models.")
        cls = catalog.resolve(name, "table", task)
        known = cls().get_params(deep=False)
        how: dict[str, Any] = {"watched": False, "labeled": True, "optimizer": None}
        params, training = TASKS[task]().defaults(known, rows=rows, **how)
        model = cls(**params, **({"random_state": self._seed(k)} if "random_state" in known else {}))
        return model.set_params(**{f"training__{key}": value for key, value in training.items()})

    def _seed(self, k: int) -> int:
        return int(Draw(self.seed_).at("member", k).generator("seed").initial_seed() % 2**31)

    def _fitted(self, k: int, rows: Rows) -> Any:
        if self.bagging:
            share = None if rows.weight is None else rows.weight / rows.weight.sum()
            drawn = np.random.default_rng(self._seed(k)).choice(len(rows.x), len(rows.x), p=share)
            rows = rows.take(drawn)._replace(weight=None)
        model, classes = self._member(k, len(rows.x)), getattr(self, "classes_", None)
        y = rows.y if classes is None else classes[rows.y]
        if rows.weight is None or (rows.weight == 1).all():
            return model.fit(rows.x, y)
        if not has_fit_parameter(model, "sample_weight"):
            raise InputError(f"{type(model).__name__} takes no sample_weight, so weights cannot be passed on to it.")
        return model.fit(rows.x, y, rows.weight)

    @abstractmethod
    def _answer(self, member: Any, x: np.ndarray) -> np.ndarray:
        """What a fitted member says of rows: (n, ...)."""

    @abstractmethod
    def _weigh(self, found: np.ndarray, rows: Rows) -> np.ndarray:
        """Weights (L,) by answers (n, L, ...) to rows that the members did not learn from."""

    def _learned_weights(self, rows: Rows) -> np.ndarray:
        """By predictions of folds; equal where there are few rows."""
        _, place = np.unique(keys(rows.x, self.seed_), return_inverse=True)  # equal rows are in one fold
        k, parts = place % FOLDS, []
        one_class = is_classifier(self) and any(np.ptp(rows.y[k != fold]) == 0 for fold in range(FOLDS))
        if place.max() + 1 < FEWEST or one_class:
            return self.weights_
        for fold in range(FOLDS):
            members = [self._fitted(m, rows.take(k != fold)) for m in range(len(self.members))]
            parts.append(np.stack([self._answer(member, rows.x[k == fold]) for member in members], 1))
        found = np.concatenate(parts)[np.argsort(np.argsort(k, kind="stable"))]  # in the order of the rows
        return self._weigh(found, rows)

    def predictions(self, X: ArrayLike) -> np.ndarray:
        """What each member says: probabilities (L, n, K), or numbers (L, n) or (L, n, T)."""
        x = self._table(X)
        return np.stack([self._answer(member, x) for member in self.members_])

    def _mean(self, X: ArrayLike) -> np.ndarray:
        each = self.predictions(X)  # an error before fit
        return np.tensordot(self.weights_, each, 1)

    def get_state(self) -> dict[str, Any]:
        """What was learned, with the files of each member inside."""
        state = super().get_state()
        files = [member._files() for member in state.pop("members_", [])]
        return state | {"members_": [{"config": config, **tree} for config, tree in files]}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        made, weights = state["members_"], np.asarray(state["weights_"])
        found = [json.loads(one["config"]) for one in made]
        if [str(config["model"]) for config in found] != list(self.members) or NAME in self.members:
            raise ValueError(f"members are not {', '.join(self.members)}")
        if weights.shape != (len(made),) or abs(weights.sum() - 1) > 1e-6:
            raise ValueError(f"{len(made)} members and weights {weights!r:.40} for {len(self.members)} names")
        members = [revived(c, one, f"member {k}") for k, (c, one) in enumerate(zip(found, made, strict=True))]
        super().set_state({**state, "members_": members})


class CommitteeClassifier(_Committee, Probable):
    """Classify with the mean probability of several models.

    Example:
        >>> X, y = [[0.0], [1], [2], [3]], ["low", "low", "high", "high"]
        >>> CommitteeClassifier(members=("linear", "lda"), random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
        ['low', 'high']
    """

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The mean probability of each class: (n, K)."""
        return self._mean(X)

    def _answer(self, member: Any, x: np.ndarray) -> np.ndarray:
        if not hasattr(member, "predict_proba"):
            raise InputError(f"{type(member).__name__} gives no probabilities, so it cannot be a member. Leave it out.")
        p = np.zeros((len(x), len(self.classes_)))
        p[:, np.searchsorted(self.classes_, member.classes_)] = member.predict_proba(x)
        return p

    def _weigh(self, found: np.ndarray, rows: Rows) -> np.ndarray:
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        return mixture_weights(np.maximum(found[np.arange(len(found)), :, rows.y], 1e-6), weight)


class CommitteeRegressor(_Committee, PlainRegressor):
    """Predict numbers with the mean of several models.

    Example:
        >>> model = CommitteeRegressor(members=("linear", "ridge"), random_state=0)
        >>> model.fit([[0.0], [1], [2], [3]], [0.0, 1, 2, 3]).predict([[4.0]]).round(1).tolist()
        [3.8]
    """

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The mean of the members: (n,) or (n, T)."""
        return self._mean(X)

    def _answer(self, member: Any, x: np.ndarray) -> np.ndarray:
        return member.predict(x)

    def _weigh(self, found: np.ndarray, rows: Rows) -> np.ndarray:
        errors = (found - rows.y[:, None]).reshape(len(found), len(self.members), -1)  # (n, L, T)
        weight = np.ones(len(found)) if rows.weight is None else rows.weight
        scale = np.sqrt(weight @ (errors**2).mean(1) / weight.sum()) + np.finfo(float).tiny  # targets count alike
        each = np.concatenate(np.moveaxis(errors / scale, 2, 0))
        return committee_weights(each, sample_weight=np.tile(weight, errors.shape[2]), negative=False)
