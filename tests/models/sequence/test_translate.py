"""Sequence to sequence: teacher forcing, greedy decoding, tokens on both sides."""

import numpy as np
import pytest
import torch

from ftheta.draw import Draw
from ftheta.models.sequence.translate import Seq2Seq

PAIRS = [("un chat", "a cat"), ("un chien dort", "a dog sleeps"), ("le chat", "the cat"), ("le chien", "the dog")]
X, Y = [list(side) for side in zip(*PAIRS, strict=True)]
MADE = {"hidden": 16, "epochs": 80, "lr": 0.02, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return Seq2Seq(**MADE, dtype="float64").fit(X, Y)


@pytest.mark.ledger("C331", covers="ftheta.models.sequence.translate.Seq2Seq")  # translation
def test_it_learns_pairs_and_puts_known_words_together(model):
    assert [" ".join(row) for row in model.predict(X)] == Y and model.score(X, Y) == 1.0
    assert model.score(X, ["a cat", "a dog sleeps", "the cat", "a dog"]) == 0.75
    words = Seq2Seq(**MADE, dtype="float64").fit([x.split() for x in X], [y.split() for y in Y])
    assert torch.equal(words.module_.out.weight, model.module_.out.weight)


def test_the_loss_is_the_mean_over_all_tokens_of_what_follows_the_true_ones_before(model):
    total, n = 0.0, 0
    for x, y in PAIRS:
        (batch,) = model.source(model.checked([x]), 1).batches(0, 0, Draw(0))
        numbers = [1 + model.target_.facts["classes"].tolist().index(word) for word in y.split()]
        for t, token in enumerate([*numbers, 0]):
            raw = model.module_(batch.x, torch.tensor([[0, *numbers[:t]]]))[0, -1]
            total, n = total - raw.log_softmax(-1)[token].item(), n + 1
    assert model.evaluate(X, Y)["loss"] == pytest.approx(total / n, rel=1e-10)


def test_decoding_takes_the_most_probable_token_and_reads_it_next(model):
    (batch,) = model.source(model.checked(["le chien dort"]), 1).batches(0, 0, Draw(0))
    before = [0]
    while len(before) < 7:
        before.append(int(model.module_(batch.x, torch.tensor([before]))[0, -1].argmax()))
        if before[-1] == 0:
            break
    expected = model.target_.facts["classes"][np.array([token for token in before if token], int) - 1]
    assert model.predict(["le chien dort"])[0].tolist() == expected.tolist()
    assert max(map(len, model.predict(X))) <= 6  # twice the longest target


def test_integers_are_tokens_and_a_run_that_is_fitted_again_is_the_same():
    rng = np.random.default_rng(0)
    numbers = [rng.integers(0, 5, rng.integers(1, 4)).tolist() for _ in range(60)]
    turned = [row[::-1] for row in numbers]
    made = {"hidden": 32, "epochs": 30, "lr": 0.02, "random_state": 0}
    model = Seq2Seq(**made).fit(numbers, turned)
    assert model.score(numbers, turned) > 0.9
    again = Seq2Seq(**made).fit(numbers, turned)
    assert all(torch.equal(a, b) for a, b in zip(model.module_.parameters(), again.module_.parameters(), strict=True))
