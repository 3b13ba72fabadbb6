"""Memory before a run: the numbers of the table, and the vectors that a rule really keeps."""

import pytest
import torch

from ftheta.errors import InputError
from ftheta.optim import RULES, make, memory, refuse_large


@pytest.mark.ledger("B195", covers="ftheta.optim.memory")
def test_second_order_rules_need_gigabytes_where_vectors_are_small():
    """34,826 weights in float64: a vector is 0.28 MB, a dense Hessian 9.7 GB."""
    p = 34_826
    assert p * 8 / 1e6 == pytest.approx(0.28, abs=0.005) and p * p * 8 / 1e9 == pytest.approx(9.7, abs=0.005)
    assert memory("bfgs", p) / 1e9 == pytest.approx(9.7, abs=0.01)
    assert all(memory(name, p, rows=60_000) >= p * p * 8 for name in ("newton", "gauss-newton", "lm", "natural"))
    assert memory("cg", p) == 4 * p * 8 and memory("lbfgs", p) < 13e6


@pytest.mark.parametrize("name", [n for n in RULES if RULES[n].needs == "gradient"])
def test_first_order_rules_keep_the_vectors_that_the_table_says(name):
    theta = torch.zeros(1000, dtype=torch.float64, requires_grad=True)
    rule = make(name, [theta])
    theta.grad = torch.ones(1000, dtype=torch.float64)
    rule.step()
    kept = sum(t.numel() * 8 for s in rule.state.values() for t in s.values() if torch.is_tensor(t) and t.ndim)
    assert kept == memory(name, 1000)


@pytest.mark.parametrize("name", ["steepest", "cg", "bfgs", "lbfgs"])
def test_searching_rules_keep_no_more_than_the_table_says(name):
    theta = torch.ones(30, dtype=torch.float64, requires_grad=True)
    rule = make(name, [theta], options={"max_iter": 1})

    def closure():
        theta.grad = None
        value = (theta**4 * torch.arange(1, 31)).sum()
        value.backward()
        return value

    for _ in range(25):
        rule.step(closure)
    flat = [t for v in rule.memory.values() for row in (v if isinstance(v, list) else [[v]]) for t in row]
    kept = sum(t.numel() * 8 for t in flat if torch.is_tensor(t))
    working = 4 * 30 * 8
    assert memory(name, 30) - 2 * working <= kept <= memory(name, 30)


def test_half_the_precision_is_half_the_memory():
    assert memory("adam", 10, dtype="float32") == 80 == memory("adam", 10) / 2
    with pytest.raises(InputError, match=r"Unknown dtype 'float31'\. Did you mean 'float32'"):
        memory("adam", 10, dtype="float31")
    with pytest.raises(InputError, match=r"Unknown optimizer 'adm'"):
        memory("adm", 10)


def test_what_is_larger_than_the_machine_is_refused_with_its_size():
    with pytest.raises(InputError, match=r"optimizer='newton' needs .* GB for 10,000,000 parameters.*'lbfgs' or 'cg'"):
        refuse_large("newton", 10**7)
    refuse_large("cg", 34_826)


def test_a_trainer_refuses_before_the_first_update():
    from torch import nn

    from ftheta.data import Rows
    from ftheta.likelihoods import Gaussian
    from ftheta.train import Supervised, Trainer

    wide = Supervised(nn.Linear(3_000_000, 1), Gaussian())
    with pytest.raises(InputError, match=r"optimizer='bfgs' needs .* for 3,000,001 parameters"):
        Trainer(wide, Rows(torch.zeros(1, 1), batch_size=1), optimizer="bfgs")
