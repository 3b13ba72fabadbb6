"""The catalog: one line per public model, readable without importing any of them.

A card names the classes of a family by task; names outside this table are never imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

from .errors import InputError

__all__ = ["CARDS", "Card", "all_estimators", "card", "nearest", "resolve"]


class Card(NamedTuple):
    """What there is to know of a family before it is imported.

    Args:
        name: The name on the command line.
        targets: Task to "module:Class".
        input: Kind of X: table, image, sequence, text, series, boxes, environment.
        support: Values of X: real, unit, sign, bit, count, category.
        topics: Words to find it by.
        summary: One line.
        extra: Optional dependencies it needs, as the name of an extra.
    """

    name: str
    targets: dict[str, str]
    input: str = "table"
    support: str = "real"
    topics: tuple[str, ...] = ()
    summary: str = ""
    extra: str = ""


_TABLE = [
    Card(
        "linear",
        {"regress": "ftheta.models.linear:LinearRegression", "classify": "ftheta.models.logistic:LogisticRegression"},
        topics=("linear", "closed form", "likelihood"),
        summary="Least squares and logistic regression, with their statistics.",
    ),
    Card(
        "basis",
        {"regress": "ftheta.models.basis:BasisRegression"},
        topics=("linear", "closed form", "polynomial", "basis functions"),
        summary="Polynomials, sinusoids, Gaussians, hinges and own functions, fitted in closed form.",
    ),
    Card(
        "ridge",
        {"regress": "ftheta.models.ridge:Ridge"},
        topics=("linear", "closed form", "penalty", "shrinkage"),
        summary="Least squares with a penalty on squared coefficients; all penalties from one decomposition.",
    ),
    Card(
        "lasso",
        {"regress": "ftheta.models.lasso:Lasso"},
        topics=("linear", "penalty", "sparse", "selection of features"),
        summary="Least squares with a penalty that sets coefficients to zero, with a proof of optimality.",
    ),
    Card(
        "elastic-net",
        {"regress": "ftheta.models.lasso:ElasticNet"},
        topics=("linear", "penalty", "sparse", "shrinkage"),
        summary="Least squares with both penalties: of the lasso and of ridge.",
    ),
    Card(
        "lda",
        {"classify": "ftheta.models.discriminant:LinearDiscriminant"},
        topics=("linear", "closed form", "generative", "gaussian", "discriminant", "shrinkage"),
        summary="Gaussian classes of one covariance: linear boundaries, in closed form.",
    ),
    Card(
        "qda",
        {"classify": "ftheta.models.discriminant:QuadraticDiscriminant"},
        topics=("quadratic", "closed form", "generative", "gaussian", "discriminant", "shrinkage"),
        summary="Gaussian classes, each with its own covariance: quadratic boundaries, in closed form.",
    ),
    Card(
        "fisher",
        {"classify": "ftheta.models.discriminant:FisherDiscriminant"},
        topics=("linear", "closed form", "generative", "gaussian", "discriminant", "projection"),
        summary="Fisher's directions, along which classes are furthest apart, and decisions along them.",
    ),
    Card(
        "gaussian-nb",
        {"classify": "ftheta.models.naive_bayes:GaussianNaiveBayes"},
        topics=("naive Bayes", "closed form", "generative", "gaussian"),
        summary="Naive Bayes: features that are independent Gaussians in each class.",
    ),
    Card(
        "discrete-nb",
        {"classify": "ftheta.models.naive_bayes:DiscreteNaiveBayes"},
        topics=("naive Bayes", "closed form", "generative", "categories"),
        summary="Naive Bayes of categories: a table of probabilities for each feature and class.",
    ),
    Card(
        "perceptron",
        {"classify": "ftheta.models.perceptron:Perceptron"},
        topics=("linear", "online", "threshold", "history"),
        summary="Planes by Rosenblatt's rule or the delta rule, one row after the other.",
    ),
    Card(
        "whitening",
        {"transform": "ftheta.models.whitening:Whitening"},
        topics=("linear", "closed form", "preprocessing", "scaling", "covariance"),
        summary="Columns scaled to variance 1, or whitened so that their covariance is the identity.",
    ),
    Card(
        "mlp",
        {"classify": "ftheta.models.mlp:MLPClassifier", "regress": "ftheta.models.mlp:MLPRegressor"},
        topics=("neural", "dense", "deep"),
        summary="Multi-layer perceptron: dense layers with an activation between them.",
    ),
    Card(
        "convnet",
        {"classify": "ftheta.models.conv:ConvNetClassifier"},
        input="image",
        topics=("neural", "convolution", "deep", "images"),
        summary="Stages of convolutions and poolings, then dense layers.",
    ),
    Card(
        "resnet",
        {"classify": "ftheta.models.conv:ResNetClassifier"},
        input="image",
        topics=("neural", "convolution", "residual", "deep", "images"),
        summary="Residual blocks of convolutions: nets that are deep and train all the same.",
    ),
    Card(
        "unet",
        {"segment": "ftheta.models.unet:UNetSegmenter"},
        input="image",
        topics=("neural", "convolution", "images", "segmentation"),
        summary="U-Net: a class for every pixel, by an hourglass of convolutions with skips across.",
    ),
    Card(
        "hopfield",
        {"store": "ftheta.models.hopfield:HopfieldNetwork"},
        support="sign",
        topics=("memory", "energy", "attractors", "recall"),
        summary="Hopfield network: patterns as states of rest, recalled from noisy cues.",
    ),
    Card(
        "modern-hopfield",
        {"store": "ftheta.models.modern_hopfield:ModernHopfield"},
        support="sign",
        topics=("memory", "energy", "attention", "recall"),
        summary="Memories with sharper energies: far more patterns than units; the update is attention.",
    ),
    Card(
        "rbm",
        {"density": "ftheta.models.boltzmann:RestrictedBoltzmannMachine"},
        support="unit",
        topics=("energy", "density", "sampling", "features", "generative"),
        summary="Restricted Boltzmann machine: hidden units that explain rows; samples, fills in, scores.",
    ),
    Card(
        "dbm",
        {"density": "ftheta.models.dbm:DeepBoltzmannMachine"},
        support="unit",
        topics=("energy", "density", "sampling", "deep", "generative"),
        summary="Deep Boltzmann machine: layers of hidden units, trained together.",
    ),
    Card(
        "boltzmann",
        {"density": "ftheta.models.boltzmann_machine:BoltzmannMachine"},
        support="bit",
        topics=("energy", "density", "sampling", "exact", "generative"),
        summary="General Boltzmann machine: every pair of units connected; exact for small ones.",
    ),
    Card(
        "module",
        {"classify": "ftheta.models.module:ModuleClassifier", "regress": "ftheta.models.module:ModuleRegressor"},
        topics=("neural", "own code"),
        summary="Your own PyTorch module with the life of an estimator.",
    ),
]

CARDS: dict[str, Card] = {card.name: card for card in _TABLE}


def nearest(what: str, name: object, known: Iterable[object]) -> str:
    """The sentence for an unknown name: what it is, the nearest known ones, and all of them."""
    names, asked = [str(k) for k in known], str(name)[:80]
    close = get_close_matches(asked, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    more = f", ... ({len(names)} in all)" if len(names) > 20 else ""
    return f"Unknown {what} {asked!r}.{hint} Known: {', '.join(names[:20])}{more}."


def card(name: str) -> Card:
    """The card of a model by its name.

    Example:
        >>> card("mlp").targets["classify"]
        'ftheta.models.mlp:MLPClassifier'
    """
    if name not in CARDS:
        raise InputError(nearest("model", name, CARDS))
    return CARDS[name]


def resolve(name: str, task: str) -> type[Any]:
    """Import the class of a model for a task."""
    targets = card(name).targets
    if task not in targets:
        raise InputError(nearest(f"task of model {name!r}:", task, targets))
    module, _, attribute = targets[task].partition(":")
    return getattr(import_module(module), attribute)


def all_estimators() -> dict[str, type[Any]]:
    """Every public estimator by its class name."""
    classes = [resolve(c.name, task) for c in CARDS.values() for task in c.targets]
    return {cls.__name__: cls for cls in classes}
