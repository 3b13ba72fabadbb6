"""`ftheta models`: the catalog."""

import click

from ..catalog import CARDS, install
from ..results import Table
from ._show import echo_json, echo_table, json_option


@click.command("models", short_help="List the models.")
@json_option("One JSON object per model.")
def command(as_json: bool) -> None:
    """List the models that `ftheta train` knows, with their tasks and what they take."""
    install()
    if as_json:
        for card in CARDS.values():
            targets = [{"kind": kind, "task": task, "class": c} for (kind, task), c in card.targets.items()]
            echo_json(card._asdict() | {"targets": targets})
        return
    cards = CARDS.values()
    columns = {"model": [c.name for c in cards], "tasks": [", ".join(c.tasks) for c in cards]}
    columns |= {"input": [", ".join(c.kinds) for c in cards], "what it is": [c.summary for c in cards]}
    echo_table(Table(columns))
