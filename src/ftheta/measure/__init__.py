"""Measurements of predictions: metrics, each with an interval; curves, calibration, residuals; two models compared.

    measure.classification(y, p, classes)         accuracy, log loss, Brier, ROC AUC, ... with intervals
    measure.labels(y, predicted)                  accuracy where there are no probabilities
    measure.regression(y, predicted)              R², RMSE, MAE; with low= and high= coverage and width
    measure.confusion(y, predicted)               which class is taken for which
    measure.roc(y, p), .precision_recall(y, p)    every threshold
    measure.calibration(y, p)                     confidence against accuracy
    measure.decide(p, loss, reject=0.1)           the cheapest answer, or none
    measure.at_threshold(y, p, 0.3)               found and missed above one threshold
    measure.threshold(y, p, "f1")                 the best threshold, on validation rows
    measure.cost_curve(y, p), .rejection(y, p)    every mix of costs; accuracy against coverage
    measure.densities(y, x)                       class densities, posteriors and where the best answer changes
    measure.against_truth(made, p)                excess over the Bayes error of made data
    measure.residuals(y, predicted)               what is left
    measure.compare(y, a, b)                      McNemar, or paired tests
    measure.half_width(residuals, level)          split conformal prediction
    measure.iou(y, predicted), .dice, ...         a label for every pixel: overlap, accuracy, accuracy at outlines
    measure.psnr(y, predicted)                    images against clean ones, in dB

Arrays, lists, tensors and pandas Series in; numbers or a Result with `table()`, `figure()` and `alt` out.
"""

from __future__ import annotations

from .calibration import Calibration, calibration, ece
from .compare import Comparison, PairedTest, compare, mcnemar, mcnemar_corrected, paired_t, sign_flip, wilcoxon
from .conformal import half_width
from .confusion import Confusion, confusion
from .cost import CostCurve, cost_curve
from .curves import PrecisionRecall, Roc, precision_recall, roc
from .decide import decide
from .densities import Densities, densities
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
    r2_correlation,
    r2_explained,
    rmse,
    roc_auc,
)
from .psnr import psnr
from .rejection import Rejection, rejection
from .residuals import Residuals, residuals
from .scores import Score, Scores, classification, labels, regression
from .segmentation import boundary, boundary_accuracy, dice, iou, mean_iou, pixel_accuracy, pixel_counts
from .thresholds import AtThreshold, Threshold, at_threshold, threshold
from .truth import AgainstTruth, against_truth

__all__ = [
    "AgainstTruth",
    "AtThreshold",
    "Bootstrap",
    "Calibration",
    "Comparison",
    "Confusion",
    "CostCurve",
    "Densities",
    "PairedTest",
    "PrecisionRecall",
    "Rejection",
    "Residuals",
    "Roc",
    "Score",
    "Scores",
    "Threshold",
    "accuracy",
    "against_truth",
    "at_threshold",
    "average_precision",
    "balanced_accuracy",
    "boundary",
    "boundary_accuracy",
    "brier",
    "calibration",
    "classification",
    "compare",
    "confusion",
    "cost_curve",
    "coverage",
    "decide",
    "densities",
    "dice",
    "ece",
    "half_width",
    "iou",
    "labels",
    "log_loss",
    "mae",
    "mcnemar",
    "mcnemar_corrected",
    "mean_iou",
    "mean_width",
    "paired_t",
    "pinball",
    "pixel_accuracy",
    "pixel_counts",
    "precision_recall",
    "psnr",
    "r2",
    "r2_correlation",
    "r2_explained",
    "regression",
    "rejection",
    "residuals",
    "rmse",
    "roc",
    "roc_auc",
    "sign_flip",
    "threshold",
    "wilcoxon",
    "wilson",
]
