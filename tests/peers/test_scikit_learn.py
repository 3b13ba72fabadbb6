"""scikit-learn's tests pass with our classes, and docs/scikit-learn.md lists those that do not apply, and why.

`python -m tests.peers.test_scikit_learn` writes the page.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scikit-learn.md"
DIFFERENT = {  # tests that fail, and what happens here
    "test_logistic: test_multinomial_logistic_regression_string_inputs": "a class weight of 0 is refused",
    "test_ridge: test_ridge_shapes_type": "y of shape (n, 1) is one target, so `intercept_` is a number",
    "test_mlp: test_partial_fit_classes_error": "the first call of `partial_fit` may leave out `classes`",
    "test_mlp: test_warm_start": "rows for a warm start may lack a class",
    "test_mlp: test_early_stopping_stratified": "a class may have one row",
    "test_mlp: test_preserve_feature_names": "one class is refused",
    "test_mlp: test_mlp_partial_fit_after_fit": "`partial_fit` ignores `validation` and `patience`",
    "test_mlp: test_mlp_diverging_loss": "a validation loss that is not finite is an error",
    "test_mlp: test_minimum_input_sample_size": "one row may be left for training",
    "test_rbm: test_convergence_dtype_consistency": "float32 and float64 draw different samples",
    "test_discriminant_analysis: test_lda_priors": "priors that do not add up to 1 are refused, not rescaled",
    "test_discriminant_analysis: test_qda": "a class with one row takes the covariance of all, with a warning",
    "test_discriminant_analysis: test_raises_value_error_on_one_sample_per_class": "the same",
    "test_naive_bayes: test_gnb_priors_sum_isclose": "a prior of 0 is refused",
    "test_naive_bayes: test_discretenb_degenerate_one_class_case": "one class is refused",
}
LEFT_OUT = ("option", "value", "attribute", "private", "the ", "sparse", "array_api")  # how these reasons begin
HEAD = """# scikit-learn's own tests

scikit-learn {version} comes with tests of linear models, neural networks, discriminant analysis and naive Bayes. They
run here with `LinearRegression`, `Ridge`, `Lasso`, `ElasticNet`, `LogisticRegression`, `Perceptron`, `MLPClassifier`,
`MLPRegressor`, `RestrictedBoltzmannMachine` (`BernoulliRBM`), `LinearDiscriminant`, `QuadraticDiscriminant`,
`GaussianNaiveBayes` and `DiscreteNaiveBayes` (`CategoricalNB`) in place of its classes. Options that have another name
or unit here are translated, e.g. `C` to `l2 = 1 / (2 n C)`; messages may have other words.

Of {n} cases whose options and attributes exist here, {passed} pass ({share:.1f} %). Cases that use none of these
classes, or that scikit-learn skips or expects to fail itself, are not counted.
"""


def outcomes(folder):
    """One (test, outcome, reason) for each case."""
    file = Path(folder) / "cases.xml"
    options = ["-q", "-p", "no:cacheprovider", "-W", "default", "--tb=no", f"--junitxml={file}"]
    settings = ["-o", "addopts=--import-mode=importlib", "-o", "xfail_strict=false"]
    cases = str(Path(__file__).with_name("scikit_learn.py"))
    subprocess.run([sys.executable, "-m", "pytest", cases, *options, *settings], cwd=ROOT, capture_output=True)
    for case in ElementTree.parse(file).iter("testcase"):
        test = case.get("name").partition("[")[0].replace("__test_", ": test_", 1)
        result = next(iter(case), None)
        if result is None or result.tag not in ("failure", "error", "skipped"):
            yield test, "passed", ""
        else:
            yield test, result.tag, result.get("message")


def counted(cases):
    """Counts of what passed, and of (test, reason) that differ, are left out, or fail without a known reason."""
    counts = {name: Counter() for name in ("passed", "different", "left out", "failed")}
    for test, outcome, reason in cases:
        if outcome == "passed":
            counts["passed"][test, ""] += 1
        elif outcome == "skipped" and reason.startswith(LEFT_OUT):
            counts["left out"][test, reason] += 1
        elif outcome != "skipped":
            counts["different" if test in DIFFERENT else "failed"][test, DIFFERENT.get(test, reason)] += 1
    return counts


def page(counts):
    """The text of docs/scikit-learn.md."""
    from sklearn import __version__

    passed, failed = counts["passed"].total(), counts["different"].total()
    n = passed + failed
    text = HEAD.format(version=__version__, n=n, passed=passed, share=100 * passed / n)
    for title, key, column in (
        ("What differs", "different", "here"),
        ("What is left out", "left out", "what does not exist here"),
    ):
        rows = sorted(counts[key].items())
        lines = [f"| {test} | {count} | {reason} |" for (test, reason), count in rows]
        text += "\n".join([f"\n## {title}\n", f"| test | cases | {column} |", "|---|--:|---|", *lines, ""])
    return text


@pytest.mark.middle
def test_scikit_learns_tests_pass_with_our_classes(tmp_path):
    counts = counted(outcomes(tmp_path))
    passed, different = counts["passed"].total(), counts["different"].total()
    assert not counts["failed"]
    assert passed >= 450 and passed >= 0.95 * (passed + different)
    listed = PAGE.read_text()
    missing = {key for name in ("different", "left out") for key in counts[name] if f"| {key[0]} | " not in listed}
    assert not missing, "python -m tests.peers.test_scikit_learn writes the page anew"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        counts = counted(outcomes(folder))
    print(counts["failed"])
    PAGE.write_text(page(counts))
