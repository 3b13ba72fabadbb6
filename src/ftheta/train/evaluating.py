"""What an objective reports over all batches of a source, in evaluation mode.

value = Σ total / Σ weight        a mean of means would weigh a short last batch wrongly
"""

from __future__ import annotations

from typing import Any

import torch

from ..data.sources import Source
from ..draw import Draw
from ._drawing import Drawing, batches_of
from .objective import Objective

__all__ = ["evaluate"]


def evaluate(objective: Objective, source: Source, draw: Draw, drawing: Drawing | None = None) -> dict[str, float]:
    """What the objective reports, over all batches of a source: each Σ total / Σ weight, in evaluation mode."""
    sums: dict[str, list[Any]] = {}
    modes, drawing = [(module, module.training) for module in objective.modules()], drawing or Drawing(objective)
    objective.eval()
    with torch.no_grad():
        for i, batch in enumerate(batches_of(source, 0, 0, draw.at("order"))):
            here = draw.at(i)
            with drawing.scope(here, training=False):
                found = objective.evaluate(batch, here)
            for name, loss in found.items():
                kept = sums.setdefault(name, [0.0, 0.0])
                kept[0], kept[1] = kept[0] + loss.total.detach().double(), kept[1] + loss.weight
    for module, mode in modes:
        module.training = mode
    return {name: float(total / weight) for name, (total, weight) in sums.items()}
