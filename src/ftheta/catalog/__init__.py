"""The catalog: one line per model, explanation and data set, read without importing any of them.

    card("mlp"), view("summary"), dataset("iris")       a line by its name; an unknown name is answered with the nearest
    resolve("mlp", "table", "classify")                 the class; names outside the catalog are never imported
    register(Card(...))                                 one more line: a Card, a View or a DataCard

Other packages add lines through the entry-point group `ftheta.cards`: each names a line, or a list of lines.
"""

from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from ..errors import InputError
from .cards import DATA, Card, DataCard, View
from .lazy import lazy
from .models import ALIASES, MODELS
from .views import VIEWS as _VIEWS

__all__ = [
    "CARDS", "DATASETS", "VIEWS", "Card", "DataCard", "View", "all_estimators", "card", "check_known", "class_target",
    "classes", "dataset", "install", "lazy", "load", "nearest", "register", "resolve", "view",
]  # fmt: skip

CARDS: dict[str, Card] = {card.name: card for card in MODELS}
VIEWS: dict[str, View] = {view.name: view for view in _VIEWS}
DATASETS: dict[str, DataCard] = {data.name: data for data in DATA}


def nearest(what: str, name: object, known: Iterable[object]) -> str:
    """The sentence for an unknown name: what it is, the nearest known ones, and all of them."""
    names, asked = [str(k) for k in known], str(name)[:80]
    close = get_close_matches(asked, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    more = f", ... ({len(names)} in all)" if len(names) > 20 else ""
    return f"Unknown {what} {asked!r}.{hint} Known: {', '.join(names[:20])}{more}."


def check_known(what: str, name: object, known: Collection[object]) -> None:
    """Raise that sentence unless the name is one of those known."""
    if name not in known:
        raise InputError(nearest(what, name, known))


def register(*entries: Card | View | DataCard) -> Callable[[], None]:
    """Add lines to the catalog of this process; calling what is returned takes them out again."""
    tables: list[tuple[dict[str, Any], str]] = []
    for entry in entries:
        table: dict[str, Any] = CARDS if isinstance(entry, Card) else VIEWS if isinstance(entry, View) else DATASETS
        if table.get(entry.name, entry) != entry:
            raise InputError(f"The catalog already has a {type(entry).__name__} {entry.name!r}. Choose another name.")
        tables += [] if entry.name in table else [(table, entry.name)]
        table[entry.name] = entry

    def remove() -> None:
        for table, name in tables:
            table.pop(name, None)

    return remove


@cache
def install() -> None:
    """Add the lines of installed packages, once."""
    from importlib.metadata import entry_points

    for point in entry_points(group="ftheta.cards"):
        found = point.load()
        register(*([found] if isinstance(found, Card | View | DataCard) else found))


def _line(table: dict[str, Any], what: str, name: str) -> Any:
    if name not in table:
        install()
    if name not in table:
        raise InputError(nearest(what, name, table))
    return table[name]


def card(name: str) -> Card:
    """The line of a model.

    Example:
        >>> card("mlp").targets["table", "classify"].partition(":")[2]
        'MLPClassifier'
    """
    if name in ALIASES and name not in CARDS:
        raise InputError(f"The model {name!r} is called {ALIASES[name]!r} here. Use that name.")
    return _line(CARDS, "model", name)


def view(name: str) -> View:
    """The line of an explanation."""
    return _line(VIEWS, "explanation", name)


def dataset(name: str) -> DataCard:
    """The line of a data set."""
    return _line(DATASETS, "data set", name)


def load(target: str) -> Any:
    """Import what "module:name" of a line names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def resolve(name: str, kind: str, task: str) -> type[Any]:
    """Import the class of a model for a kind of data and a task."""
    targets = card(name).targets
    if (kind, task) not in targets:
        known = [" ".join(pair) for pair in targets]
        raise InputError(nearest(f"kind and task of model {name!r}:", f"{kind} {task}", known))
    return load(targets[kind, task])


def classes() -> dict[str, str]:
    """ "module:Class" of every estimator by the name of its class."""
    return {target.partition(":")[2]: target for card in CARDS.values() for target in card.targets.values()}


def class_target(name: str) -> str | None:
    """ "module:Class" of an estimator by the name of its class, of installed packages too; None: there is none."""
    if name not in classes():
        install()
    return classes().get(name)


def all_estimators() -> dict[str, type[Any]]:
    """Every public estimator by the name of its class."""
    install()
    return {name: load(target) for name, target in classes().items()}
