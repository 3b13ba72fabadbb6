"""`tune`: a search over the parameters of any scikit-learn estimator, judged by cross-validation."""

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing as taken

from ..errors import InputError
from ..plots import Figure, canvas, drawn
from ..results import Result
from .search import Report, Search
from .space import Space, space_of, written
from .together import stacks, values_of
from .tuned import Trials, trials_of


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
        sign = 1 if self.maximize else -1
        values = np.where([state == "complete" for state in self.states], sign * self.values, -np.inf)
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
    known = space_of(given, list(estimator.get_params(deep=False)))
    scorer: Any = check_scoring(estimator, scoring)
    splitter: Any = check_cv(cv, y, classifier=is_classifier(estimator))
    parts = list(splitter.split(X, y, groups))
    made = Search(known, search=search, seed=random_state, journal=journal, prune=prune)

    def made_from(point: Mapping[str, Any]) -> Any:
        model: Any = clone(estimator)
        return model.set_params(**point)

    def fit_of(rows: Any) -> dict[str, Any]:
        return {"X": taken(X, rows)} | ({} if y is None else {"y": taken(y, rows)})

    def score(model: Any, rows: Any) -> float:
        return scorer(model, *fit_of(rows).values())

    def measure(point: Mapping[str, Any], report: Report) -> float:
        scores: list[float] = []
        for learn, held in parts:
            scores.append(score(made_from(point).fit(**fit_of(learn)), held))
            report(float(np.mean(scores)))
        return float(np.mean(scores))

    def together(points: list[dict[str, Any]]) -> list[Any]:
        fits = [(made_from(point), fit_of(learn)) for point, (learn, _) in product(points, parts)]
        return values_of(fits, len(parts), lambda k, model: score(model, parts[k][1]), np.mean)

    if stacks(estimator, X, len(parts)):
        made.run_together(together, trials, seconds=seconds)
    else:
        made.run(measure, trials, seconds=seconds)
    found = trials_of(made, "score", True)
    if "complete" not in found.states:
        raise InputError(f"None of {len(found.points)} trials could be trained{made.why}. Check the space.")
    return Tuned(**vars(found), best_estimator_=made_from(found.best_point).fit(**fit_of(slice(None))))


class Nested(Result):
    """What a search is worth: in each outer fold it saw none of the rows that judge its best point."""

    scores: np.ndarray  # of the best points, on the rows held out (K,)
    inner: np.ndarray  # of the same points, on the folds that chose them (K,)
    points: tuple[Mapping[str, Any], ...]

    def columns(self) -> dict[str, Any]:
        named = {name: [written(p[name]) for p in self.points] for name in self.points[0]}
        return {"fold": np.arange(1, len(self.scores) + 1), "held out": self.scores, "inner folds": self.inner, **named}

    @property
    def caption(self) -> str:
        deviation = self.scores.std(ddof=1) if len(self.scores) > 1 else np.nan
        return (
            f"Nested cross-validation: {self.scores.mean():.4g} with standard deviation {deviation:.2g} over "
            f"{len(self.scores)} folds; the folds that chose the points say {self.inner.mean():.4g}."
        )

    @drawn
    def figure(self) -> Figure:
        figure, axes = canvas(width=5.0, height=3.0)
        for values, marker, name in ((self.scores, "o", "held out"), (self.inner, "s", "inner folds")):
            axes.plot(np.arange(1, len(values) + 1), values, marker, label=name)
        axes.set(xlabel="fold", ylabel="score", title="Nested cross-validation")
        axes.legend()
        return figure


def nested(estimator: Any, X: Any, y: Any, space: Space | None = None, *, outer: Any = 5, **how: Any) -> Nested:
    """The score of a search itself, by searches that each leave an outer fold out.

    Args:
        outer: Folds, or a splitter of scikit-learn; `cv` are the inner ones.
        **how: Arguments of `tune`.
    """
    scorer: Any = check_scoring(estimator, how.get("scoring"))
    found, scores = [], []
    for learn, held in check_cv(outer, y, classifier=is_classifier(estimator)).split(X, y):
        found.append(tune(estimator, taken(X, learn), taken(y, learn), space, **how))
        scores.append(float(scorer(found[-1].best_estimator_, taken(X, held), taken(y, held))))
    return Nested(np.array(scores), np.array([f.best_score_ for f in found]), tuple(f.best_point for f in found))
