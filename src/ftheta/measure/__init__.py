"""Measurements of predictions: metrics with intervals; curves, calibration, residuals; two models compared.

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
    measure.against_truth(made, p)                excess over the Bayes error of synthetic data
    measure.residuals(y, predicted)               what is left
    measure.error_groups(x, error)                which rows have larger errors
    measure.compare(y, a, b)                      McNemar, or paired tests
    measure.half_width(residuals, level)          split conformal prediction
    measure.iou(y, predicted), .dice, ...         a label for every pixel: overlap, accuracy, accuracy at outlines

Arrays, lists, tensors and pandas Series in; numbers or a Result with `table()`, `figure()` and `caption` out. A metric
alone: `sklearn.metrics`. `__init__.pyi` lists the names.
"""

from ..catalog import lazy

lazy(__name__)
