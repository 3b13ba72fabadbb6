"""The data sets."""

from .cards import DataCard

_FILES, _MADE = "ftheta.data.sets.named", "ftheta.data.sets.synthetic"

DATA = [
    DataCard("breast-cancer", f"{_FILES}:breast_cancer", "table", 569, 30, "binary"),
    DataCard("diabetes", f"{_FILES}:diabetes", "table", 442, 10, "regression"),
    DataCard("digits", f"{_FILES}:digits", "table", 1797, 64, "multiclass"),
    DataCard("iris", f"{_FILES}:iris", "table", 150, 4, "multiclass"),
    DataCard("wine", f"{_FILES}:wine", "table", 178, 13, "multiclass"),
    DataCard("cholesterol", f"{_FILES}:cholesterol", "table", 10, 2, "regression"),
    DataCard("sprint", f"{_FILES}:sprint", "table", 42, 2, "regression"),
    DataCard("moons", f"{_MADE}:moons", "table", 1000, 2, "binary", "synthetic"),
    DataCard("circles", f"{_MADE}:circles", "table", 1000, 2, "binary", "synthetic"),
    DataCard("spirals", f"{_MADE}:spirals", "table", 1000, 2, "binary", "synthetic"),
    DataCard("xor", f"{_MADE}:xor", "table", 1000, 2, "binary", "synthetic"),
    DataCard("checkerboard", f"{_MADE}:checkerboard", "table", 1000, 2, "binary", "synthetic"),
    DataCard("blobs", f"{_MADE}:blobs", "table", 1000, 2, "multiclass", "synthetic"),
    DataCard("sinusoid", f"{_MADE}:sinusoid", "table", 1000, 1, "regression", "synthetic"),
    DataCard("friedman", f"{_MADE}:friedman", "table", 1000, 10, "regression", "synthetic"),
    DataCard("polynomial", f"{_MADE}:polynomial", "table", 1000, 1, "regression", "synthetic"),
    DataCard("heteroscedastic", f"{_MADE}:heteroscedastic", "table", 1000, 1, "regression", "synthetic"),
    DataCard("two-gaussians", f"{_MADE}:two_gaussians", "table", 1000, 2, "binary", "synthetic"),
    DataCard("shapes", f"{_MADE}:shapes", "image", 500, 1024, "segment", "synthetic"),
    DataCard("mnist", "ftheta.data.sets.download:mnist", "image", 70000, 784, "multiclass", "download"),
    DataCard("santafe-laser", "ftheta.data.sets.download:santafe_laser", "series", 1100, 1, "none", "download"),
    DataCard("tinyshakespeare", "ftheta.data.sets.download:tinyshakespeare", "text", 1115394, 1, "none", "download"),
]
