"""How many parameters does a convolutional network have, and how many do local and shared weights save?

Question: conv3x3(32)-pool-conv3x3(64)-pool-dropout-dense 10 on 28x28 digits: which layer has how many parameters and
multiply-adds, what does batch norm add, and what would a dense or a locally connected layer cost for the same maps?

    conv: k² C_in C_out + C_out        locally connected: H' W' C_out (k² C_in + 1)        dense: (D_in + 1) D_out

Nothing is random here. Cost: a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import plots
from ...explain import summary
from ...formulas import conv_parameters, dense_parameters, local_parameters
from ...nn import ConvNet
from ...results import Table
from .._study import Evidence, Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS: dict[str, str] = {}
PRINTED = {"conv1": 320, "conv2": 18_496, "output": 16_010}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        size: Height and width of the images.
        filters: Feature maps of the two stages.
        classes: Outputs.
    """

    size: int = 28
    filters: tuple[int, int] = (32, 64)
    classes: int = 10


TINY = Config(size=12, filters=(4, 8))


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Layers with shapes, parameters and multiply-adds, also with batch norm; other layers for the first maps."""
    shape = (1, config.size, config.size)
    nets = {norm: ConvNet(shape, config.classes, config.filters, dropout=0.5, norm=norm) for norm in ("none", "batch")}
    found = {norm: summary(net, input_shape=shape) for norm, net in nets.items()}
    side, first = config.size - 2, config.filters[0]
    return {
        "layers": list(found["none"].names),
        "outputs": [list(out or ()) for out in found["none"].outputs],
        "parameters": found["none"].parameters,
        "multiply_adds": found["none"].multiply_adds,
        "with_norm": [int(found["batch"].parameters.sum()), int(found["batch"].statistics.sum())],
        "alternatives": {
            "convolution": conv_parameters(1, first, 3, 3),
            "locally connected": local_parameters(1, first, 3, 3, places=side * side),
            "dense": dense_parameters(config.size**2, side * side * first),
        },
    }


def judge(evidence: Evidence) -> list[Finding]:
    """Rows of the ledger on these counts are claimed by tests; the study shows the table."""
    return []


def tables(evidence: Evidence) -> dict[str, Table]:
    """The layers, and what the same maps would cost otherwise."""
    total, (trained, kept) = int(evidence["parameters"].sum()), evidence["with_norm"]
    columns: dict[str, list[Any]] = {
        "layer": evidence["layers"],
        "output": ["x".join(map(str, out)) for out in evidence["outputs"]],
        "parameters": evidence["parameters"].tolist(),
        "printed": [PRINTED.get(name, 0) for name in evidence["layers"]],
        "multiply-adds": evidence["multiply_adds"].tolist(),
    }
    said = (
        f"{total:,} parameters. With batch norm {trained:,} are trained and {kept:,} kept, {trained + kept:,} in all."
    )
    other = evidence["alternatives"]
    layers = {"layer": list(other), "parameters": list(other.values())}
    return {"layers": Table(columns, said), "sharing": Table(layers, "For the maps of the first convolution.")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Parameters of the layers that have any."""
    kept = [i for i, n in enumerate(evidence["parameters"].tolist()) if n]
    names, counts = [evidence["layers"][i] for i in kept], evidence["parameters"][kept]
    title = f"{int(counts.sum()):,} parameters"
    return {"parameters": plots.layers(names, counts, label="parameters", title=title)}
