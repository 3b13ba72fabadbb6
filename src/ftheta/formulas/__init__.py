"""One equation per function, without state."""

from __future__ import annotations

from .backward_error import gradient_flow, modified_field, modified_gd, modified_sgd
from .bases import SHAPES, Shape, exponents, in_powers, orthogonal, products, recurrence, sinusoids, translated
from .cover import log10_separable_share, separable_count, separable_share
from .decisions import (
    Rule,
    best_rule,
    decide,
    gaussian_rule,
    loss_matrix,
    posterior,
    reweigh,
    risk,
    risks,
    shares,
    tabled,
)
from .error_free import two_product, two_sum, two_sums
from .gaussian import (
    ellipse,
    gaussian_bayes_error,
    gaussian_boundary,
    log_density,
    mahalanobis,
    principal_axes,
)
from .inference import breusch_pagan, chi2_test, durbin_watson, f_test, interval, jarque_bera, two_sided
from .least_squares import Solution, solve
from .local import stationary, taylor
from .perceptron import margin, mistake_bound, widest_plane
from .priors import NegativeLogPosterior, lasso_alpha, negative_log_posterior, ridge_alpha
from .proximal import lasso_gap, lasso_objective, soft_threshold
from .separable import separable, separator
from .stable import log_softplus, softplus
from .sum_of_squares import (
    condition_number,
    convexity,
    gradient,
    hessian,
    normal_equations,
    weights_of_responses,
)
from .surfaces import SURFACES, Surface, quadratic, rosenbrock, surface

__all__ = [
    "SHAPES",
    "SURFACES",
    "NegativeLogPosterior",
    "Rule",
    "Shape",
    "Solution",
    "Surface",
    "best_rule",
    "breusch_pagan",
    "chi2_test",
    "condition_number",
    "convexity",
    "decide",
    "durbin_watson",
    "ellipse",
    "exponents",
    "f_test",
    "gaussian_bayes_error",
    "gaussian_boundary",
    "gaussian_rule",
    "gradient",
    "gradient_flow",
    "hessian",
    "in_powers",
    "interval",
    "jarque_bera",
    "lasso_alpha",
    "lasso_gap",
    "lasso_objective",
    "log10_separable_share",
    "log_density",
    "log_softplus",
    "loss_matrix",
    "mahalanobis",
    "margin",
    "mistake_bound",
    "modified_field",
    "modified_gd",
    "modified_sgd",
    "negative_log_posterior",
    "normal_equations",
    "orthogonal",
    "posterior",
    "principal_axes",
    "products",
    "quadratic",
    "recurrence",
    "reweigh",
    "ridge_alpha",
    "risk",
    "risks",
    "rosenbrock",
    "separable",
    "separable_count",
    "separable_share",
    "separator",
    "shares",
    "sinusoids",
    "soft_threshold",
    "softplus",
    "solve",
    "stationary",
    "surface",
    "tabled",
    "taylor",
    "translated",
    "two_product",
    "two_sided",
    "two_sum",
    "two_sums",
    "weights_of_responses",
    "widest_plane",
]
