"""What one line of the catalog says: of a family of models, of an explanation, of a data set; and the data sets."""

from importlib.util import find_spec
from typing import NamedTuple


class Card(NamedTuple):
    """A family of models."""

    name: str  # on the command line
    targets: dict[tuple[str, str], str]  # (kind of X, task) to "module:Class"
    summary: str = ""  # one sentence
    extra: str = ""  # of pip, that installs the package of its name
    compare_rows: int = 0  # rows up to which `compare` tries it unasked

    @property
    def installed(self) -> bool:
        """Whether the package of its name is there, if it needs one."""
        return not self.extra or find_spec(self.name) is not None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of X that it takes."""
        return tuple(dict.fromkeys(kind for kind, _ in self.targets))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that it is for."""
        return tuple(dict.fromkeys(task for _, task in self.targets))


class View(NamedTuple):
    """An explanation."""

    name: str  # on the command line; in Python the name of its function
    target: str  # "module:function"
    needs: str = ""  # attributes that the explained object must have, e.g. "module_ target_"; a|b is one of the two
    question: str = ""  # that it answers
    summary: str = ""  # one sentence
    order: int = 50  # place in the report and in lists
    cost: str = "quick"  # quick: in every report; slow: only on request
    instead: str = ""  # explanation whose figure it replaces in a report


class DataCard(NamedTuple):
    """A data set."""

    name: str
    target: str  # "module:function", which is called without arguments and returns the Dataset
    kind: str = "table"
    rows: int = 0
    columns: int = 1
    task: str = ""
    source: str = "built in"  # built in, synthetic or download


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
