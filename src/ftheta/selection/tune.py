"""`tune`: a search over the parameters of any scikit-learn estimator, judged by cross-validation. Small networks that
differ in seed, rate, batch size and penalties only are trained all at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing as taken

from ..errors import InputError, NonFiniteError
from ..results import Table
from .search import FAILS, Report, Search
from .space import Space, space_of, written
from .tuned import Trials, trials_of

Fit = tuple[Any, Mapping[str, Any]]  # an estimator, and what its `fit` takes
TOGETHER, NUMBERS = 200, 2**24  # fits of a stack, and numbers of X of all of them


class Tuned(Trials):
    """Trials, and the best estimator fitted on all rows; names as in scikit-learn's searches."""

    best_estimator_: Any

    @property
    def best_params_(self) -> dict[str, Any]:
        return self.best_point

    @property
    def best_score_(self) -> float:
        return float(self.values[self.best])

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Columns of a data frame, one row per trial."""
        values = np.where(self.complete, self.values, -np.inf)
        rank = 1 + np.array([(values > value).sum() for value in values])
        each = {f"param_{name}": [p.get(name) for p in self.points] for name in self.space}
        found = {"params": list(self.points), **each, "mean_test_score": self.values, "rank_test_score": rank}
        return {**found, "mean_fit_time": self.seconds, "state": list(self.states)}

    def predict(self, X: Any) -> Any:
        """Predictions of the best estimator."""
        return self.best_estimator_.predict(X)


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    space: Space | None = None,
    *,
    trials: int = 50,
    search: str = "tpe",
    cv: Any = 5,
    groups: Any = None,
    scoring: str | Callable[..., float] | None = None,
    seconds: float = float("inf"),
    prune: bool = True,
    journal: Path | None = None,
    random_state: int = 0,
) -> Tuned:
    """Search for good parameters of an estimator.

    Args:
        estimator: Any estimator of scikit-learn's kind.
        X: Samples.
        y: Targets.
        space: Ranges and values by parameter, nested ones as `training__l2`; None: the family's own `space`.
        trials: Number of points.
        search: "tpe", "random", "quasi-random" or "grid".
        cv: Folds, or a splitter of scikit-learn.
        groups: Groups of the rows, for a splitter that takes them.
        scoring: Name of a scorer or a scorer; None: the estimator's `score`.
        seconds: After which no trial begins.
        prune: Whether a trial that is clearly behind after some folds is ended.
        journal: File that keeps the trials; calling again continues.
        random_state: Seed of the search.

    Example:
        >>> import numpy as np
        >>> from ftheta import Ridge
        >>> from ftheta.selection import Range
        >>> X = np.random.default_rng(0).normal(size=(30, 4))
        >>> found = tune(Ridge(), X, X[:, 0], {"alpha": Range(1e-3, 1e3, log=True)}, trials=8)
        >>> found.best_params_["alpha"] < 0.1
        True
    """
    given = getattr(type(estimator), "space", None) if space is None else space
    if not given:
        raise InputError(f"{type(estimator).__name__} has no search space of its own. Give space={{'lr': Range(...)}}.")
    given = {name.replace(".", "__"): where for name, where in given.items()}
    known = space_of(given, sorted({name.partition("__")[0] for name in estimator.get_params()}))
    scorer: Any = check_scoring(estimator, scoring)
    splitter: Any = check_cv(cv, y, classifier=is_classifier(estimator))
    parts = list(splitter.split(X, y, groups))
    made = Search(known, search=search, seed=random_state, journal=journal, prune=prune)

    def made_from(point: Mapping[str, Any]) -> Any:
        model: Any = clone(estimator)
        return model.set_params(**point)

    def fit_of(rows: Any) -> dict[str, Any]:
        return {"X": taken(X, rows)} | ({} if y is None else {"y": taken(y, rows)})

    def score(k: int, model: Any) -> float:
        return scorer(model, *fit_of(parts[k][1]).values())

    folds = Folds(made_from, [fit_of(learn) for learn, _ in parts], score, lambda scores: float(np.mean(scores)))
    folds.run(made, estimator, trials, seconds=seconds)
    found = trials_of(made, "score")
    return Tuned(**vars(found), best_estimator_=made_from(found.best_point).fit(**fit_of(slice(None))))


def nested(estimator: Any, X: Any, y: Any, space: Space | None = None, *, outer: Any = 5, **how: Any) -> Table:
    """What a search is worth: in each outer fold, the score of its best point on rows that no inner fold saw.

    Args:
        outer: Folds, or a splitter of scikit-learn; `cv` are the inner ones.
        **how: Arguments of `tune`.
    """
    scorer: Any = check_scoring(estimator, how.get("scoring"))
    splitter: Any = check_cv(outer, y, classifier=is_classifier(estimator))
    points, inner, scores = [], [], []
    for learn, held in splitter.split(X, y):
        found = tune(estimator, taken(X, learn), taken(y, learn), space, **how)
        points.append({name: written(value) for name, value in found.best_point.items()})
        inner.append(found.best_score_)
        scores.append(float(scorer(found.best_estimator_, taken(X, held), taken(y, held))))
    columns = {"fold": list(range(1, len(scores) + 1)), "held out": scores, "inner folds": inner}
    said = f"{np.mean(scores):.4g} with standard deviation {np.std(scores, ddof=1):.2g} on rows held out"
    columns |= {name: [point[name] for point in points] for name in points[0]}
    return Table(columns, f"{said}; {np.mean(inner):.4g} on the folds that chose the points")


# ---- fold by fold, or all at once


@dataclass(frozen=True)
class Folds:
    """How a point is measured."""

    make: Callable[[Mapping[str, Any]], Any]  # the estimator of a point
    fits: Sequence[Mapping[str, Any]]  # what `fit` takes, for each fold
    score: Callable[[int, Any], Any]  # what the model of a fold gives for the rows held out
    join: Callable[[list[Any]], float]  # the value of some folds

    def run(self, search: Search, model: Any, trials: int, **how: Any) -> None:
        """Search; copies of the model are trained at once if they are small networks, judged by their rows."""
        X = self.fits[0]["X"]
        small = isinstance(X, np.ndarray) and X.ndim == 2 and X.size * len(self.fits) <= NUMBERS
        together = small and hasattr(model, "prepare")
        search.run(self.values if together else self.value, trials, together=together, **how)

    def value(self, point: Mapping[str, Any], report: Report) -> float:
        """The value of a point, told fold by fold."""
        model, found = self.make(point), []
        for k, data in enumerate(self.fits):
            copy: Any = clone(model)
            found.append(self.score(k, copy.fit(**data)))
            report(self.join(found))
        return self.join(found)

    def values(self, points: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The value of each point, or the error of one that cannot be trained."""
        from ..train import threads

        made, k = [_tried(self.make, point) for point in points], len(self.fits)
        good = [model for model in made if not isinstance(model, Exception)]
        models = _fitted([(model, data) for model in good for data in self.fits])
        each = iter([models[i : i + k] for i in range(0, len(models), k)])
        with threads(1):  # a few rows each
            return [m if isinstance(m, Exception) else _tried(self._joined, next(each)) for m in made]

    def _joined(self, models: Sequence[Any]) -> float:
        for error in models:
            if isinstance(error, Exception):
                raise error
        return self.join([self.score(k, model) for k, model in enumerate(models)])


def _tried(make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a function gives, or the error of settings that cannot be trained."""
    try:
        return make(*given, **named)
    except FAILS as error:
        return error


def _fitted(fits: Sequence[Fit]) -> list[Any]:
    """Fitted estimators, or the error of one that could not be."""
    from ..train.many import OWN

    alike = cache(lambda model: str([v for v in sorted(model.get_params().items()) if v[0] not in (*OWN, "training")]))
    groups: dict[str, list[int]] = {}
    for i, (model, data) in enumerate(fits):
        groups.setdefault(f"{alike(model)} {np.shape(data['X'])[1:]}", []).append(i)
    made: dict[int, Any] = {}
    for group in groups.values():
        for k in range(0, len(group), TOGETHER):
            some = group[k : k + TOGETHER]
            made |= zip(some, _stack([fits[i] for i in some]), strict=True)
    return [made[i] for i in range(len(fits))]


def _stack(fits: Sequence[Fit]) -> list[Any]:
    """All at once; a loop, where a stack is refused."""
    from ..train import fit_many
    from ..train.many import LOST, OWN

    try:
        own = cache(lambda model: {name: value for name, value in model.get_params().items() if name in OWN})
        fitted = fit_many(fits[0][0], [{**data, **own(model)} for model, data in fits])
    except FAILS:  # refused together, or one of them alone
        copies: list[Any] = [clone(model) for model, _ in fits]
        return [_tried(model.fit, **data) for model, (_, data) in zip(copies, fits, strict=True)]
    return [NonFiniteError(why) if (why := model.stop_reason_).startswith(LOST) else model for model in fitted]
