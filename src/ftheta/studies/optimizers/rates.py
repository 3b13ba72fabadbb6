"""Which learning rates are too small, right and too large?

Where do three rates end on a line after 100 steps of gradient descent, and what do the rule-of-thumb rates 0.1 and 0.01
do on six problems?

    on a quadratic every error component is multiplied by 1 - η λ per step, so η > 2 / L diverges
"""

from typing import Any

import numpy as np

from ...data import Rows
from ...draw import Draw
from ...train import minimize
from .. import Checks, Measured, Study, holds, less, more
from ._line import descend, half_mse, line_rows, stiffness
from ._race import DIVERGED, Task, race

PROBLEMS = ("bowl x²/2", "bowl 100 x²/2", "line, gd", "network, gd", "network, sgd", "network, adam")


def losses(seed: int, problem: str, lr: float, rows: int, steps: int) -> np.ndarray:
    """The loss after every step: (T + 1,)."""
    family, _, rule = problem.partition(", ")
    if family == "network":
        return race(Task(0.25, rows=rows, epochs=steps), rule, lr, seed).padded(steps).train
    if family == "line":
        points = line_rows(rows, Draw(seed).at("rates"))
        values = half_mse(points, descend(Rows(*points, batch_size=rows), "gd", lr, steps)).numpy()
    else:
        curvature = 100.0 if "100" in family else 1.0
        values = minimize(lambda x: curvature * x.square().sum() / 2, [1.0], lr=lr, steps=steps).values
    end = values[-1] if values[-1] <= values[0] else DIVERGED  # a curve that ended early
    return np.minimum(np.pad(values, (0, steps + 1 - len(values)), constant_values=end), DIVERGED)


def three(seed: int, lr: float, *, rows: int = 200, steps: int = 100) -> dict[str, Any]:
    """One rate on the line: its loss, and how far the rate is from the limit 2 / L."""
    curve = losses(seed, "line, gd", lr, rows, steps)
    limit = 2 / stiffness(line_rows(rows, Draw(seed).at("rates")))
    return {"end": curve[-1], "above the limit": lr / limit - 1, "left": curve[-1] / curve[0], "loss": curve}


def sweep(seed: int, problem: str, lr: float, *, rows: int = 200, steps: int = 100) -> dict[str, Any]:
    """What is left of the loss at the start, on a log scale."""
    curve = losses(seed, problem, lr, rows, steps)
    return {"left (decades)": np.log10(max(curve[-1] / curve[0], 1e-12))}


TINY = {"seeds": 2, "rows": 60, "steps": 8}
line = Study(three, {"lr": (0.002, 0.2, 2.0)}, seeds=5, tiny=TINY)
problems = Study(sweep, {"problem": PROBLEMS, "lr": (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)}, seeds=5, tiny=TINY)


@line.claim("B008", says="0.002 converges slowly, 0.2 faster, 2.0 may not converge", reference=[3.212, 0.00523, 3.879])
def three_rates(m: Measured) -> Checks:
    end, left = np.log(m["end"]), m["left"]
    yield less("0.2 ends lower than 0.002 (log)", end[1], end[0])
    yield more("0.002 still has half of the loss", left[0], 0.5)
    agree = (m["above the limit"][2] > 0) == (left[2] > 1)
    yield holds("2.0 diverges exactly where it is above 2 / L", agree.all(), f"diverges in {(left[2] > 1).mean():.0%}")


@problems.claim("A124", says="entirely problem-dependent; 0.1 is a great staple choice; if unstable, try 0.01")
def rule_of_thumb(m: Measured) -> Checks:
    first, then = (m.at("left (decades)", lr=lr) for lr in (0.1, 0.01))  # (problem, seed)
    for problem, left in zip(PROBLEMS, np.where(first < 0, first, then), strict=True):
        text = f"0.1, or 0.01 where that is unstable, lowers the loss of {problem} (decades)"
        constant = left.std() == 0  # the bowls have no seeds
        yield holds(text, left[0] < 0, f"{left[0]:+.2g}") if constant else less(text, left)
