"""The command line: one verb a file, imported when it is called, so that `ftheta --help` answers at once."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import click

from .. import __version__
from ..catalog import nearest

__all__ = ["main"]

VERBS = {
    "train": "Train a model on a data set or a CSV file.",
    "predict": "Predict with a trained run.",
    "explain": "Show what happened inside a trained run.",
    "runs": "List, show and verify runs.",
    "models": "List the models.",
    "ledger": "What the sources claim, and what was found.",
    "doctor": "Versions, devices, threads, data: what a bug report needs.",
}


class Verbs(click.Group):
    """Loads a verb when it is called; knows the help of all without loading any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            raise click.UsageError(nearest("command", cmd_name, VERBS))
        return import_module(f"{__name__}.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ftheta")
def cli() -> None:
    """fθ: train a model, take it apart, and check what you were told.

    \b
    ftheta train mlp digits                     a data set that is built in
    ftheta train mlp my.csv --target price      your own numbers
    """


def main() -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2, never a traceback."""
    warnings.showwarning = _note  # type: ignore[assignment]
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        _fail(error.format_message())
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except Exception as error:
        if not _expected(error):
            raise
        _fail(str(error))


def _expected(error: Exception) -> bool:
    """Whether an error is the user's: ours, or scikit-learn's about a parameter."""
    from ..errors import FThetaError

    return isinstance(error, FThetaError) or type(error).__name__ == "InvalidParameterError"


def _fail(sentence: str) -> None:
    click.echo(f"Error: {sentence}", err=True)
    sys.exit(2)


def _note(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None) -> None:
    click.echo(f"Note: {message}", err=True)
