"""What an objective reports over all batches of a source, in evaluation mode.

value = Σ total / Σ weight        a mean of means would weigh a short last batch wrongly
"""

from __future__ import annotations

from typing import Any

import torch

from ..data.sources import Source
from ..draw import Draw
from .objective import Objective

__all__ = ["evaluate"]


def evaluate(objective: Objective, source: Source, draw: Draw) -> dict[str, float]:
    """What the objective reports, over all batches of a source: each Σ total / Σ weight, in evaluation mode."""
    sums: dict[str, list[Any]] = {}
    modes, state = [(module, module.training) for module in objective.modules()], torch.get_rng_state()
    objective.eval()
    with torch.no_grad():
        for i, batch in enumerate(source.batches(0, 0, draw.at("order"))):
            here = draw.at(i)
            here.seed_global()
            for name, loss in objective.evaluate(batch, here).items():
                kept = sums.setdefault(name, [0.0, 0.0])
                kept[0], kept[1] = kept[0] + loss.total.detach().double(), kept[1] + loss.weight
    for module, mode in modes:
        module.training = mode
    torch.set_rng_state(state)
    return {name: float(total / weight) for name, (total, weight) in sums.items()}
