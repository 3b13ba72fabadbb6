"""Nonlinear systems with an input: NARX and NOE networks, and neural state-space models.

    NARX  ŷ_{t+1} = f(y_t, ..., y_{t-p+1}, u_{t+1}, ..., u_{t-q+2})       series-parallel: measured outputs come back
    NOE   ŷ_{t+1} = f(ŷ_t, ..., ŷ_{t-p+1}, u_{t+1}, ..., u_{t-q+2})       parallel: its own come back, in training too
    state space  x_{t+1} = f(x_t, u_{t+1}, e_t),   ŷ_t = g(x_t),   e_t = y_t - ŷ_t the innovation, or 0

The inputs u are the columns known ahead; an input that acts one step later is a column that is shifted by one step.
Shapes: B windows, L steps, D outputs, K inputs, H units, S states.
References: Narendra and Parthasarathy, Identification and control of dynamical systems using neural networks (1990);
Suykens, De Moor and Vandewalle, Nonlinear system identification using neural state space models (1995).
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...check import Count, Widths
from ...data import InputSpec, TargetSpec
from ...nn import MLP
from ._neural import NeuralForecaster


class NARXNet(nn.Module):
    """A net of the last outputs and inputs, run along a window: (B, L, D + K) -> (B, L, D)."""

    def __init__(self, net: nn.Module, n: int, order: int, input_order: int, parallel: bool) -> None:
        super().__init__()
        self.net, self.n, self.order, self.input_order, self.parallel = net, n, order, input_order, parallel

    def forward(self, x: Tensor) -> Tensor:
        if not self.parallel:
            return self.net(self._inputs(x))
        made, seen = list[Tensor](), None
        for t, now in enumerate(x.unbind(1)):
            own = torch.cat([made[-1], now[:, self.n :]], 1) if t >= self.order else now
            value, seen = self.step(own[:, None], seen)
            made.append(value)
        return torch.stack(made, 1)

    def _inputs(self, x: Tensor) -> Tensor:
        return torch.cat([_lags(x[..., : self.n], self.order), _lags(x[..., self.n :], self.input_order)], 2)

    def step(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The output after the last step of x, and the steps that the next one looks at."""
        seen = x if state is None else torch.cat([state, x], 1)
        seen = seen[:, -max(self.order, self.input_order) :]
        return self.net(self._inputs(seen)[:, -1]), seen


def _lags(x: Tensor, count: int) -> Tensor:
    """The last steps up to each one, the latest last and 0 before the first: (B, L, D) -> (B, L, count D)."""
    padded = functional.pad(x, (0, 0, count - 1, 0))
    return padded.unfold(1, count, 1).transpose(2, 3).flatten(2)


class NARXForecaster(NeuralForecaster):
    """A nonlinear autoregression with inputs. `parallel` trains it as it is simulated (NOE).

    Args:
        order: Outputs p that come back.
        input_order: Inputs q, that of the predicted step included.
        hidden: Widths of the hidden layers.
        parallel: Whether its own outputs come back in training, through each window.
    """

    order: Count = 3
    input_order: Count = 3
    hidden: Widths = (32,)
    parallel: bool = False

    each: ClassVar[bool] = True

    def build(self, x: InputSpec, y: TargetSpec) -> NARXNet:
        width = self.order * y.n + self.input_order * (x.shape[0] - y.n)
        net = MLP(width, y.n, tuple(self.hidden), activation="tanh")
        return NARXNet(net, y.n, self.order, self.input_order, self.parallel)


class StateSpaceNet(nn.Module):
    """States that inputs and innovations move, run along a window from 0: (B, L, D + K) -> (B, L, D)."""

    def __init__(self, n_inputs: int, n: int, states: int, hidden: int, innovations: bool) -> None:
        super().__init__()
        self.n, self.states, self.innovations = n, states, innovations
        self.move = MLP(states + n_inputs, states, (hidden,), activation="tanh")
        self.out = nn.Linear(states, n)

    def forward(self, x: Tensor) -> Tensor:
        return self._run(x, x.new_zeros(len(x), self.states))[0]

    def step(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The output after the last step of x, and the state there."""
        outputs, state = self._run(x, x.new_zeros(len(x), self.states) if state is None else state)
        return outputs[:, -1], state

    def _run(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        made = []
        for now in x.unbind(1):
            e = now[:, : self.n] - self.out(state) if self.innovations else torch.zeros_like(now[:, : self.n])
            state = self.move(torch.cat([state, now[:, self.n :], e], 1))
            made.append(self.out(state))
        return torch.stack(made, 1), state


class StateSpaceForecaster(NeuralForecaster):
    """A neural state-space model.

    Args:
        states: Number of states S.
        hidden: Units of the net that moves them.
        innovations: Whether errors of prediction move the states (a stochastic model), or inputs alone (deterministic).
    """

    states: Count = 4
    hidden: Count = 32
    innovations: bool = True

    each: ClassVar[bool] = True

    def build(self, x: InputSpec, y: TargetSpec) -> StateSpaceNet:
        return StateSpaceNet(x.shape[0], y.n, self.states, self.hidden, self.innovations)
