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
from ..results import Table
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
        raise InputError(f"None of {len(found.points)} trials could be trained{found.why}. Check the space.")
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
