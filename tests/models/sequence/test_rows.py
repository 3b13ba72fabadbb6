"""Recurrent nets for sequences as rows: padding, tokens, pooling, and what a step is answered by."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ftheta.data import Batch, InputSpec
from ftheta.draw import Draw
from ftheta.errors import InputError, InputTypeError
from ftheta.models import GRURegressor, LSTMClassifier, LSTMTagger, RNNClassifier, RNNTagger
from ftheta.models.sequence.rows import Steps

FAMILIES = [
    LSTMClassifier(bidirectional=True, layers=2), RNNClassifier(pooling="mean"), GRURegressor(),
    LSTMTagger(bidirectional=True), RNNTagger(),
]  # fmt: skip


def ragged(n=12, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(3, 2, (t, 2)) for t in rng.integers(1, 9, n)]


def targets(model, X):
    if isinstance(model, LSTMTagger | RNNTagger):
        return [np.where(x[:, 0] > 3, "high", "low") for x in X]
    return np.arange(len(X)) % 2


@pytest.mark.ledger("C224", covers="ftheta.models.LSTMTagger")
@pytest.mark.parametrize("model", FAMILIES, ids=lambda m: type(m).__name__)
def test_the_loss_of_a_padded_batch_is_that_of_the_sequences_alone(model):
    X = ragged()
    y = targets(model, X)
    model.set_params(dtype="float64", epochs=2, hidden=5, random_state=0).fit(X, y)
    objective = model.objective(model.module_, model.target_)

    def sums(rows):
        data = model.checked([X[i] for i in rows], [y[i] for i in rows])
        (batch,) = model.source(data, 100).batches(0, 0, Draw(0))
        loss = objective.loss("loss", batch, Draw(0))
        return loss.total, torch.as_tensor(loss.weight, dtype=torch.float64)

    total, weight = sums(range(len(X)))
    alone = [sum(part) for part in zip(*(sums([i]) for i in range(len(X))), strict=True)]
    torch.testing.assert_close(total, alone[0], rtol=0, atol=1e-10)
    assert weight == alone[1] == (sum(map(len, X)) if isinstance(y, list) else len(X))
    grown = torch.autograd.grad(total, list(model.module_.parameters()))
    single = torch.autograd.grad(alone[0], list(model.module_.parameters()))
    torch.testing.assert_close(grown, single, rtol=0, atol=1e-10)


@pytest.mark.ledger("C225", covers="ftheta.models.LSTMClassifier")
def test_the_embedding_of_a_token_is_a_product_with_a_one_hot_vector_and_only_used_rows_have_a_gradient():
    steps = Steps(InputSpec((), {"tokens": np.array(["a", "b", "c", "d"])}), 3)
    x = torch.tensor([[2, 4, 4, 0], [4, 1, 0, 0]])  # a c c, c and a token that is not known
    z, real = steps(x)
    weight = steps.embedding.weight
    torch.testing.assert_close(z, F.one_hot(x, 6).to(weight.dtype) @ weight)
    assert real.tolist() == [[True, True, True, False], [True, True, False, False]]
    assert not weight[1].any() and not z[1, 1].any()  # the unknown token begins where the others have their mean
    (gradient,) = torch.autograd.grad(z.square().sum() + z.sum(), weight)
    assert gradient.any(1).tolist() == [False, True, True, False, True, False]


def test_words_strings_and_integers_are_tokens_and_an_unknown_one_is_answered():
    X = [["the", "cat", "sat"], ["the", "dog", "ran"], ["a", "cat", "ran"], ["a", "dog", "sat"]]
    y = [0, 1, 0, 1]
    made = {"epochs": 60, "hidden": 8, "lr": 0.02, "random_state": 0}
    words = LSTMClassifier(**made).fit(X, y)
    assert words.predict(X).tolist() == y
    assert list(words.input_.facts["tokens"]) == ["a", "cat", "dog", "ran", "sat", "the"]
    spaced = [" ".join(row) for row in X]
    np.testing.assert_array_equal(words.predict_proba(spaced), words.predict_proba(X))
    assert words.predict(["one cat slept", "two dog slept"]).tolist() == [0, 1]
    numbers = [[10 * len(word) + ord(word[0]) for word in row] for row in X]
    integers = LSTMClassifier(**made, embedding=32).fit(numbers, y)
    assert integers.predict(numbers).tolist() == y and integers.input_.shape == ()
    assert LSTMClassifier(epochs=1).fit(numbers, y).input_.shape == (1,)  # without an embedding they are numbers


def test_units_of_the_columns_do_not_matter():
    X = ragged(30)
    y = np.array([x[:, 0].mean() > 3 for x in X])
    made = [
        RNNClassifier(dtype="float64", epochs=3, random_state=0).fit([a * x + b for x in X], y)
        for a, b in ((1, 0), (1000, 5))
    ]
    moved = made[1].predict_proba([1000 * x + 5 for x in X])
    np.testing.assert_allclose(moved, made[0].predict_proba(X), rtol=1e-9)


def test_what_is_pooled_is_the_state_after_the_last_step_or_the_mean():
    X = ragged()
    for pooling in ("last", "mean"):
        model = RNNClassifier(pooling=pooling, dtype="float64", epochs=1, random_state=0).fit(X, np.arange(12) % 2)
        net = model.module_
        cell, raw = net.recurrent.cells[0][0], []
        for row in X:
            z = (torch.as_tensor(row) - row.dtype.type(0) - net.steps.mean) / net.steps.scale
            h, states = torch.zeros(64, dtype=torch.float64), []
            for step in z:
                h = torch.tanh(cell.weight_x @ step + cell.weight_h @ h + cell.bias)
                states.append(h)
            raw.append(net.out(states[-1] if pooling == "last" else torch.stack(states).mean(0)))
        np.testing.assert_allclose(model.decision_function(X), torch.stack(raw)[:, 0].detach(), rtol=1e-9, atol=1e-12)


def test_a_tagger_learns_what_a_step_says_of_the_one_before():
    rng = np.random.default_rng(0)
    X = [rng.choice(["up", "down"], t) for t in rng.integers(2, 9, 60)]
    y = [np.array(["start", *x[:-1]]) for x in X]
    model = LSTMTagger(hidden=8, epochs=25, lr=0.03, random_state=0).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) == 1.0
    found, p = model.predict(X[40:]), model.predict_proba(X[40:])
    assert [row.tolist() for row in found] == [row.tolist() for row in y[40:]]
    assert [row.shape for row in p] == [(len(x), 3) for x in X[40:]]
    np.testing.assert_allclose(np.concatenate(p).sum(1), 1, rtol=1e-5)


def test_weights_of_sequences_are_copies_and_those_of_classes_count_steps():
    X = ragged()
    y = targets(LSTMTagger(), X)
    k = np.arange(12) % 3
    made = {"dtype": "float64", "epochs": 3, "hidden": 4, "random_state": 0, "batch_size": 100}
    weighted = RNNTagger(**made).fit(X, y, k)
    copies = np.repeat(np.arange(12), k)
    loss = weighted.evaluate([X[i] for i in copies], [y[i] for i in copies])["loss"]
    assert weighted.evaluate(X, y, k)["loss"] == pytest.approx(loss, rel=1e-12)
    steps = np.concatenate(y)
    counts = np.array([(steps == "high").sum(), (steps == "low").sum()])
    balanced = RNNTagger(**made, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.target_.facts["weights"], len(steps) / (2 * counts))
    right = np.concatenate([a == b for a, b in zip(weighted.predict(X), y, strict=True)])
    share = np.average(right, weights=np.repeat(k, [len(x) for x in X]))
    assert weighted.score(X, y, k) == pytest.approx(share)


@pytest.mark.parametrize(("X", "y", "sentence"), [
    ([[1.0, 2.0], [1.0]], [[0, 1]], "X has 2 rows but y has 1"),
    ([[1.0, 2.0], [1.0]], None, "a list with one label for every step"),
    ([[1.0, 2.0], [1.0]], [0, 1], r"y\[0\] has shape \(\)"),
    ([[1.0, 2.0], [1.0]], [[0, 0], [0]], "The steps of y have 1 class"),
    ([[1.0, 2.0], [1.0]], [[0, 0.5], [0]], "needs a class for every step"),
])  # fmt: skip
def test_labels_that_are_not_one_for_each_step_are_refused(X, y, sentence):
    with pytest.raises(InputError, match=sentence):
        LSTMTagger(epochs=1).fit(X, y)


def test_labels_of_another_length_than_their_sequence_are_refused():
    with pytest.raises(InputError, match=r"y\[1\] has 2 labels for 1 step"):
        LSTMTagger(epochs=1).fit([[1.0, 2.0], [1.0]], [[0, 1], [0, 1]])


def test_sequences_unlike_those_of_fit_are_refused():
    model = LSTMClassifier(epochs=1).fit(ragged(), np.arange(12) % 2)
    with pytest.raises(InputError, match=r"X\[0\] has shape \(3, 4\)"):
        model.predict([np.zeros((3, 4))])
    with pytest.raises(InputError, match="holds <U1"):
        model.predict([["a", "b"]])
    words = LSTMClassifier(epochs=1).fit(["a b", "b"], [0, 1])
    with pytest.raises(InputError):
        words.predict([[1.0, 2.0]])
    with pytest.raises(InputTypeError):
        words.predict("a b")


def test_rows_of_a_batch_have_similar_lengths_and_every_row_comes_once():
    from ftheta.data import Indexed

    lengths = np.random.default_rng(0).integers(1, 200, 1003).tolist()
    source = Indexed(1003, lambda index, draw: Batch(index), batch_size=32, lengths=lengths)
    order = [b.x for b in source.batches(0, 0, Draw(0).at("order", 0))]
    assert sorted(torch.cat(order).tolist()) == list(range(1003)) and [len(b) for b in order] == [32] * 31 + [11]
    steps = torch.tensor(lengths)
    padded = sum(int(steps[b].max()) * len(b) for b in order)
    mixed = torch.randperm(1003).split(32)
    assert padded < 1.2 * sum(lengths) < 0.75 * sum(int(steps[b].max()) * len(b) for b in mixed)
    again = [b.x for b in source.batches(0, 7, Draw(0).at("order", 0))]
    assert all(torch.equal(a, b) for a, b in zip(order[7:], again, strict=True))
    other = [b.x for b in source.batches(1, 0, Draw(0).at("order", 1))]
    together = {frozenset(b.tolist()) for b in order} & {frozenset(b.tolist()) for b in other}
    means = [float(steps[b].float().mean()) for b in order[:-1]]
    assert len(together) <= 1 and abs(np.corrcoef(means, range(31))[0, 1]) < 0.6  # of the shortest ones
