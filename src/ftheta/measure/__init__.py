"""Measurements of predictions: metrics, each with an interval; curves, calibration, residuals; two models compared.

    measure.classification(y, p, classes)         accuracy, log loss, Brier, ROC AUC, ... with intervals
    measure.regression(y, predicted)              R², RMSE, MAE; with low= and high= coverage and width
    measure.confusion(y, predicted)               which class is taken for which
    measure.roc(y, p), .precision_recall(y, p)    every threshold
    measure.calibration(y, p)                     confidence against accuracy
    measure.residuals(y, predicted)               what is left
    measure.compare(y, a, b)                      McNemar, or paired tests
    measure.half_width(residuals, level)          split conformal prediction

Arrays, lists, tensors and pandas Series in; numbers or a Result with `table()`, `figure()` and `alt` out.
"""

from __future__ import annotations

from .calibration import Calibration, calibration, ece
from .compare import Comparison, Tested, compare, mcnemar, mcnemar_corrected, paired_t, sign_flip, wilcoxon
from .conformal import half_width
from .confusion import Confusion, confusion
from .curves import PrecisionRecall, Roc, precision_recall, roc
from .intervals import Bootstrap, wilson
from .metrics import (
    accuracy,
    average_precision,
    balanced_accuracy,
    brier,
    coverage,
    log_loss,
    mae,
    mean_width,
    pinball,
    r2,
    rmse,
    roc_auc,
)
from .residuals import Residuals, residuals
from .scores import Score, Scores, classification, regression

__all__ = [
    "Bootstrap",
    "Calibration",
    "Comparison",
    "Confusion",
    "PrecisionRecall",
    "Residuals",
    "Roc",
    "Score",
    "Scores",
    "Tested",
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "brier",
    "calibration",
    "classification",
    "compare",
    "confusion",
    "coverage",
    "ece",
    "half_width",
    "log_loss",
    "mae",
    "mcnemar",
    "mcnemar_corrected",
    "mean_width",
    "paired_t",
    "pinball",
    "precision_recall",
    "r2",
    "regression",
    "residuals",
    "rmse",
    "roc",
    "roc_auc",
    "sign_flip",
    "wilcoxon",
    "wilson",
]
