"""What one line of the catalog says: of a family of models, of an explanation, of a data set."""

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
