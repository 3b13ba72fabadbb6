"""The arithmetic of convolutions: sizes and receptive fields.

    n' = ⌊(n + 2P - D(K - 1) - 1) / S⌋ + 1       size of the output
    r' = r + D(K - 1) j,   j' = j S              receptive field r of a unit, distance j of the fields of neighbors

K is the kernel, S the stride, D the dilation, P the padding on each side. With p = 2P in all, and D = 1, the size is
⌊(n - K + p + S) / S⌋: the same number if p is not taken for P. A last window that does not fit is dropped (floor).
Reference: Dumoulin and Visin, A guide to convolution arithmetic, arXiv:1603.07285 (2016).
"""

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

from ..catalog import nearest
from ..errors import InputError

MODES = {"zeros": "constant", "reflect": "reflect", "circular": "wrap"}  # our names and those of np.pad


def output_size(
    n: int, kernel: int, *, stride: int = 1, padding: int = 0, dilation: int = 1, convention: str = "side"
) -> int:
    """Size of what a convolution or a pooling leaves of an axis.

    Args:
        n: Size of the axis.
        kernel: Size of the window.
        stride: Step from one window to the next.
        padding: Places added.
        dilation: Distance of the taps of the window.
        convention: "side" if `padding` is that on each side, "total" if it is that on both together.

    Example:
        >>> output_size(28, 3, padding=1), output_size(28, 3, padding=1, convention="total")
        (28, 27)
    """
    if convention not in ("side", "total"):
        raise InputError(nearest("convention of the padding", convention, ("side", "total")))
    _check(n=(n, 1), kernel=(kernel, 1), stride=(stride, 1), padding=(padding, 0), dilation=(dilation, 1))
    padded, window = n + padding * (2 if convention == "side" else 1), dilation * (kernel - 1) + 1
    if window > padded:
        raise InputError(
            f"A window of {window} (kernel {kernel}, dilation {dilation}) is larger than the input of {n} "
            f"({padded} with the padding); take a smaller kernel or more padding."
        )
    return (padded - window) // stride + 1


class Field(NamedTuple):
    """What the units of a layer see of one axis: unit i places start + i jump to start + i jump + size - 1."""

    size: int  # places from the first to the last that a unit sees
    jump: int  # distance between the fields of neighbors
    start: int  # first place that the first unit sees; below 0 it is padding


def receptive_field(layers: Sequence[Sequence[int]]) -> list[Field]:
    """Receptive fields after each layer.

    Args:
        layers: (kernel, stride, dilation) of each, or (kernel, stride, dilation, padding on each side).

    Example:
        >>> receptive_field([(3, 1, 1, 0), (2, 2, 1, 0), (3, 1, 1, 0)])[-1]
        Field(size=8, jump=2, start=0)
    """
    size, jump, start, fields = 1, 1, 0, []
    for layer in layers:
        if len(layer) not in (3, 4):
            raise InputError(f"Layer {tuple(layer)} must be (kernel, stride, dilation) or (..., padding on each side).")
        kernel, stride, dilation, padding = (*layer, 0)[:4]
        _check(kernel=(kernel, 1), stride=(stride, 1), dilation=(dilation, 1), padding=(padding, 0))
        size, start, jump = size + dilation * (kernel - 1) * jump, start - padding * jump, jump * stride
        fields.append(Field(size, jump, start))
    return fields


def of_a_group(c_in: int, c_out: int, groups: int) -> int:
    """Channels that one filter sees."""
    _check(groups=(groups, 1))
    if c_in % groups or c_out % groups:
        raise InputError(f"groups={groups} must divide both n_in={c_in} and n_out={c_out}.")
    return c_in // groups


def side(padding: int | str, kernel: int, dilation: int) -> int:
    """Padding on each side; of words, "same" and "valid" are known."""
    around = dilation * (kernel - 1)
    if not isinstance(padding, str):
        return padding
    if padding not in ("same", "valid"):
        raise InputError(nearest("padding", padding, ("same", "valid")))
    if padding == "same" and around % 2:
        rest = "take an odd kernel, or padding='valid' or a number."
        raise InputError(f"padding='same' pads both sides alike, which kernel {kernel} does not allow; {rest}")
    return around // 2 if padding == "same" else 0


def _check(**given: tuple[int, int]) -> None:
    for name, (value, least) in given.items():
        if not isinstance(value, Integral) or value < least:
            raise InputError(f"{name} must be an int in the range [{least}, inf). Got {value!r} instead.")
