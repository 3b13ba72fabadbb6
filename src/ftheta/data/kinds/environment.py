"""Environments: what an agent acts in, by gymnasium's protocol (reset, step, observation_space, action_space)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...errors import InputError, InputTypeError
from ..specs import InputSpec
from .base import Kind

if TYPE_CHECKING:
    import torch

    from ..datasets import Dataset
    from ..sources import Source


@dataclass(frozen=True)
class Environment(Kind):
    """The id of an environment of gymnasium, or a function that makes an environment."""

    play: Callable[..., Source] | None = None  # env, batch_size, device -> source; None: the process plays itself

    name: ClassVar[str] = "environment"
    split: ClassVar[str] = "none"
    unit: ClassVar[str] = "environment"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Played:
        """An environment with discrete actions, made anew."""
        name, make = (X, _registered(X)) if isinstance(X, str) else (_name(X), X)
        if not callable(make):
            takes = "takes the id of an environment or a function that makes one"
            raise InputTypeError(f"X is {X!r:.40}; {type(owner).__name__} {takes}.")
        env: Any = make()
        actions = getattr(getattr(env, "action_space", None), "n", None)
        if actions is None:
            raise InputError(f"{name} has no discrete actions (action_space.n); {type(owner).__name__} needs those.")
        states, shape = env.observation_space, tuple(getattr(env.observation_space, "shape", ()) or ())
        facts = {"name": name, "actions": int(actions), "states": int(getattr(states, "n", 0))}
        found = InputSpec(tuple(map(int, shape)), facts)
        if spec is not None and (found.shape, facts["actions"]) != (tuple(spec.shape), spec.facts["actions"]):
            raise InputError(f"{name} has other observations or actions than {spec.facts['name']}, used in fit.")
        owner.n_features_in_ = int(np.prod(shape)) if shape else 1
        return Played(make, spec or found, self.play)

    # ---- for jobs: x makes the environment, and has length 1

    @classmethod
    def take(cls, x: Any, rows: Any) -> Any:
        return x

    @classmethod
    def content(cls, x: Any) -> bytes:
        return _name(x).encode()

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        ends = {"missing": 0, "levels": 1, "lowest": None, "highest": None}
        return [{"name": _name(data.x), "kind": cls.name, **ends}]


@dataclass(frozen=True)
class Played:
    """An environment that is played in."""

    make: Callable[[], Any]
    spec: InputSpec
    play: Callable[..., Source] | None = None

    def __len__(self) -> int:
        return 1

    def take(self, index: Any) -> Played:
        return self  # an environment has no parts

    def content(self) -> Sequence[np.ndarray]:
        return [np.frombuffer(self.spec.facts["name"].encode(), np.uint8)]

    def source(self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any) -> Source:
        """What the agent lives through."""
        if self.play is None:
            raise InputError(f"{self.spec.facts['name']} has no batches: it is played in by a process.")
        return self.play(self.make(), batch_size=batch_size, device=device)


def _registered(name: str) -> Callable[[], Any]:
    try:
        import gymnasium  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError(f"{name!r} is an environment of gymnasium: pip install 'ftheta[rl]'") from None
    return lambda: gymnasium.make(name)


def _name(make: Any) -> str:
    return f"{getattr(make, '__module__', '')}:{getattr(make, '__qualname__', type(make).__name__)}"
