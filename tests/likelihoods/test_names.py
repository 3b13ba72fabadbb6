"""Which likelihood: by task, or by name."""

import pytest
import torch

from ftheta.data.specs import TargetSpec
from ftheta.errors import InputError
from ftheta.likelihoods import (
    NAMES,
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    LearnedGaussian,
    by_name,
    for_task,
)
from ftheta.nn import MLP


@pytest.mark.ledger("A006", covers="ftheta.likelihoods.for_task")
@pytest.mark.parametrize(
    ("spec", "kind", "y", "reference"),
    [
        (TargetSpec("binary"), Bernoulli, torch.tensor([0.0, 1, 1, 0]), torch.nn.BCEWithLogitsLoss(reduction="sum")),
        (
            TargetSpec("multiclass", 3),
            Categorical,
            torch.tensor([0, 2, 1, 1]),
            torch.nn.CrossEntropyLoss(reduction="sum"),
        ),
        (TargetSpec("regression"), Gaussian, torch.tensor([0.5, -1, 3, 2]), torch.nn.MSELoss(reduction="sum")),
        (
            TargetSpec("multilabel", 2),
            Bernoulli,
            torch.tensor([[0.0, 1], [1, 1], [0, 0], [1, 0]]),
            torch.nn.BCEWithLogitsLoss(reduction="sum"),
        ),
    ],
)
def test_the_task_picks_the_loss_and_its_gradient(spec, kind, y, reference):
    """Each is a negative log-likelihood; the squared error up to its factor 1/2 and a constant."""
    likelihood = for_task(spec)
    assert type(likelihood) is kind
    raw = torch.randn(4, likelihood.n_raw(spec), generator=torch.Generator().manual_seed(0), requires_grad=True)
    ours, theirs = likelihood.total(raw, y), reference(raw.squeeze(-1), y)
    slopes = [torch.autograd.grad(loss, raw)[0] for loss in (ours, theirs)]
    factor = 0.5 if kind is Gaussian else 1.0
    torch.testing.assert_close(slopes[0], factor * slopes[1])
    at_zero = likelihood.total(raw * 0, y) - factor * reference((raw * 0).squeeze(-1), y)
    torch.testing.assert_close(ours - factor * theirs, at_zero)  # the difference is a constant


@pytest.mark.ledger("C074", covers="ftheta.likelihoods.for_task")
def test_the_output_map_follows_the_task_and_the_hidden_layers_stay():
    specs = {"regression": 1, "binary": 2, "multiclass": 3}
    nets = {kind: MLP(4, for_task(TargetSpec(kind, n)).n_raw(TargetSpec(kind, n)), (8,)) for kind, n in specs.items()}
    assert {kind: net.output.out_features for kind, net in nets.items()} == {
        "regression": 1,
        "binary": 1,
        "multiclass": 3,
    }
    assert len({str(net.hidden1) for net in nets.values()}) == 1
    raw = torch.tensor([[2.0, 1.0, 0.1]])
    torch.testing.assert_close(for_task(TargetSpec("regression")).mode(raw[:, :1]), raw[:, 0])
    torch.testing.assert_close(for_task(TargetSpec("binary")).distribution(raw[:, :1]).mean, raw[:, 0].sigmoid())
    torch.testing.assert_close(for_task(TargetSpec("multiclass", 3)).distribution(raw).probs, raw.softmax(-1))
    with pytest.raises(InputError, match=r"raw has shape \(1, 3\) and y \(1,\); Bernoulli needs 1 raw outputs"):
        for_task(TargetSpec("binary")).total(raw, torch.ones(1))


def test_an_unknown_task_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown task 'multi-class'.*[Dd]id you mean 'multiclass'"):
        for_task(TargetSpec("multi-class", 3))
    with pytest.raises(InputError, match=r"Unknown task 'none'.* Known: binary, multiclass, multilabel, regression"):
        for_task(TargetSpec("none"))


def test_names_make_their_likelihood():
    assert set(NAMES) == {"gaussian", "gaussian-learned", "gaussian-heteroscedastic", "laplace", "poisson"}
    for name, kind in NAMES.items():
        assert type(by_name(name, TargetSpec("regression"))) is kind
    learned = by_name("gaussian-learned", TargetSpec("regression", 3))
    assert isinstance(learned, LearnedGaussian) and learned.log_var.shape == (3,)
    assert by_name("gaussian-learned", TargetSpec("regression")).log_var.shape == (1,)  # type: ignore[union-attr]
    assert by_name("gaussian-heteroscedastic", TargetSpec("regression")) is not HeteroscedasticGaussian()


def test_an_unknown_likelihood_is_answered_with_the_nearest():
    with pytest.raises(
        InputError,
        match=r"Unknown likelihood 'gausian'.*[Dd]id you mean 'gaussian'.* Known: gaussian, gaussian-learned",
    ):
        by_name("gausian", TargetSpec("regression"))
