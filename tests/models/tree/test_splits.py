"""What splits gain, against Quinlan's weather table, scikit-learn's impurities and a search by hand."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import ftheta
from ftheta.errors import InputError
from ftheta.models import split_gain

RNG = np.random.default_rng(0)
OUTLOOK = ["sunny"] * 5 + ["overcast"] * 4 + ["rainy"] * 5
PLAY = ["no"] * 3 + ["yes"] * 2 + ["yes"] * 4 + ["yes"] * 3 + ["no"] * 2
WINDY = [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1]


@pytest.mark.ledger("A082", covers="ftheta.models.split_gain")
def test_the_weather_table_and_the_tree_that_takes_the_largest_gain():
    found = split_gain(PLAY, OUTLOOK)
    assert found.parent == pytest.approx(0.940286, abs=5e-7) and found.gain == pytest.approx(0.246750, abs=5e-7)
    assert found.children == pytest.approx(found.parent - found.gain)
    columns = np.array([[o == kind for kind in ("sunny", "overcast", "rainy")] for o in OUTLOOK]) * 1.0
    x, y = np.c_[columns, WINDY], np.array(PLAY)
    tree = ftheta.TreeClassifier(criterion="entropy", ccp_alpha=0.0, random_state=0).fit(x, y)
    each = [split_gain(y, column).gain for column in x.T]
    assert tree.trees.feature[0] == np.argmax(each) == 1
    shown = ftheta.explain.splits(tree, x, y)
    np.testing.assert_allclose(shown.gain, each)
    assert shown.names[shown.order[0]] == "x2" and shown.parent == pytest.approx(found.parent)


def test_impurities_are_those_of_scikit_learn_with_weights_and_groups():
    x, y, weight = RNG.normal(size=50), RNG.integers(0, 3, 50), RNG.random(50) + 0.1
    for criterion in ("gini", "entropy", "variance"):
        if criterion == "variance":
            tree = DecisionTreeRegressor(max_depth=1).fit(x[:, None], y, weight).tree_
        else:
            tree = DecisionTreeClassifier(max_depth=1, criterion=criterion).fit(x[:, None], y, weight).tree_
        found = split_gain(y, x <= tree.threshold[0], criterion=criterion, sample_weight=weight)
        size = tree.weighted_n_node_samples
        children = size[1:] @ tree.impurity[1:] / size[0]
        np.testing.assert_allclose(found, [tree.impurity[0], children, tree.impurity[0] - children], rtol=1e-6)
    shares = np.bincount(y, weight) / weight.sum()
    assert split_gain(y, y, sample_weight=weight).gain == pytest.approx(entropy(shares, base=2))
    with pytest.raises(InputError, match=r"y has shape \(50,\), groups \(2,\); one of each is needed"):
        split_gain(y, [1, 2])


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_the_best_first_question_is_that_of_the_tree_missing_cells_too(numbers):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = np.where(rng.random((80, 3)) < 0.2, np.nan, rng.normal(size=(80, 3)))
        y = np.nan_to_num(x[:, seed % 3]) + rng.normal(size=80)
        y = y if numbers else (y > 0).astype(int)
        cls = ftheta.TreeRegressor if numbers else ftheta.TreeClassifier
        tree = cls(max_depth=1, ccp_alpha=0.0, random_state=0).fit(x, y)
        found = ftheta.explain.splits(tree, x, y, scales=np.array([[10.0, 2.0]] * 3))
        best = found.order[0]
        assert best == tree.trees.feature[0]
        assert found.thresholds[best] == pytest.approx(10 + 2 * tree.trees.threshold[0], rel=1e-6)
        gain = tree.trees.impurity[0] - tree.trees.share[1:] @ tree.trees.impurity[1:]
        assert found.gain[best] == pytest.approx(gain)


def test_a_column_of_one_value_has_no_split():
    tree = ftheta.TreeClassifier(ccp_alpha=0.0).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(InputError, match="No column of X has two different values"):
        ftheta.explain.splits(tree, [[1.0], [1.0]], [0, 1])


@pytest.mark.ledger("A086", covers="ftheta.ForestRegressor")
def test_the_variance_of_a_mean_of_correlated_predictors():
    """ρ s² + (1 - ρ) s² / B, drawn: the number of the ledger; that forests follow it is measured by a study."""
    rho, b = 0.3, 100
    shared, own = RNG.normal(size=(20_000, 1)), RNG.normal(size=(20_000, b))
    mean = (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own).mean(1)
    assert rho + (1 - rho) / b == pytest.approx(0.307)
    assert mean.var() == pytest.approx(0.307, rel=4 * np.sqrt(2 / 20_000))
