"""Committees of forecasters: the mean of their free runs, which errs less than its members do on average.

    ŷ_{t+k} = Σ_m ŷ^m_{t+k} / M:      (ŷ - y)² = mean (ŷ^m - y)² - mean (ŷ^m - ŷ)²

Shapes: N origins, h steps ahead, D columns, M members.
Reference: Krogh and Vedelsby, Neural network ensembles, cross validation, and active learning, NeurIPS 7 (1995).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ... import catalog
from ...check import Count, RandomState
from ...data.kinds.panel import Panel, logged
from ...draw import seed_of
from ...errors import InputError
from .._base.files import revived
from ._forecaster import PlainForecaster
from ._origins import Origin


class CommitteeForecaster(PlainForecaster):
    """The mean of several forecasters, each trained by itself.

    Learned: members_.

    Args:
        members: Names of forecasters in the catalog.
        copies: Trainings of each, with other seeds.
        settings: Parameters of all members that have them, e.g. {"epochs": 100}.
        random_state: Seed of the members.

    Example:
        >>> y = np.sin(np.arange(80) / 3)
        >>> CommitteeForecaster(members=("ar", "kernel-ridge"), calibration=0).fit(y).predict(horizon=2).shape
        (2,)
    """

    members: tuple[str, ...] = ("mlp",)
    copies: Count = 5
    settings: Mapping[str, Any] | None = None
    random_state: RandomState = None

    plain_mean: ClassVar[Mapping[str, Any]] = {"copies": 1}  # settings with which it is the mean of its members
    how_fitted: ClassVar[str] = "Each member was fitted by itself."

    def learn(self, panel: Panel) -> None:
        if not self.members:
            raise InputError("members is empty. Name forecasters, e.g. members=('ets', 'ar').")
        self.seed_ = vars(self).get("seed_") or seed_of(self.random_state)
        names = [name for name in self.members for _ in range(self.copies)]
        self.members_ = [self._member(name, i).fit(panel.frame()) for i, name in enumerate(names)]

    def _member(self, name: str, i: int) -> Any:
        cls: Any = catalog.resolve(name, "series", "forecast")
        known = cls._get_param_names()
        own = {f: getattr(self, f) for f in ("horizon", "lags", "season", "target", "known_ahead", "log", "difference")}
        given = {"random_state": int(np.random.default_rng([self.seed_, i]).integers(2**32)), **(self.settings or {})}
        return cls(**own | {"calibration": 0.0} | {k: v for k, v in given.items() if k in known})

    def levels(self, panel: Panel, origins: Sequence[Origin], h: int) -> np.ndarray:
        seen = [(m, replace(panel, spec=m.input_, kind=m.kind())) for m in self.members_]
        found = [m._restored(own, m.levels(own, origins, h)) for m, own in seen]
        mean, log = np.mean(found, 0), np.asarray(panel.spec.facts["log"], bool)
        return logged(np.where(log, np.maximum(mean, 1e-300), mean), log)

    def _least(self, panel: Panel) -> int:
        return max(m._least(replace(panel, spec=m.input_, kind=m.kind())) for m in self.members_)

    def get_state(self) -> dict[str, Any]:
        """What was learned; a member as a file of it holds it."""
        state = super().get_state()
        files = [member._files() for member in state.pop("members_", [])]
        return state | {"members_": [{"config": config, **tree} for config, tree in files]}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        found = [json.loads(one["config"]) for one in state["members_"]]
        kinds = {(c["kind"], c["task"], c["model"] == "committee") for c in found}
        if len(found) != len(self.members) * self.copies or kinds != {("series", "forecast", False)}:
            raise InputError("The members of a committee of forecasters must be forecasters. The file is damaged.")
        made = [revived(c, one, f"member {k}") for k, (c, one) in enumerate(zip(found, state["members_"], strict=True))]
        super().set_state({**state, "members_": made})
