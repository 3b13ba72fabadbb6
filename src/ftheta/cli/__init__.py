"""The command line: one command per file, imported when it is called, so that `ftheta --help` is quick."""

import os
import re
import signal
import sys
import warnings
from importlib import import_module
from typing import Any, NoReturn

import click

from .. import __version__
from ..catalog import nearest
from ._show import echo

COMMANDS = {
    "train": "Train a model on a data set or a file.",
    "compare": "Try the models that fit the data, and train the best.",
    "tune": "Search for good parameters of a model.",
    "predict": "Predict with a trained run.",
    "evaluate": "Evaluate a trained run on a file with targets.",
    "sample": "Draw new rows from a trained run.",
    "export": "Export a model as plain PyTorch, without fθ.",
    "explain": "Show what happened inside a trained run.",
    "runs": "List, show, compare and verify runs.",
    "data": "List, show and fetch data sets.",
    "models": "List the models.",
    "studies": "List the studies, with their verdicts.",
    "study": "Repeat a study: measure, judge, draw.",
    "ledger": "What the sources claim, and whether it holds.",
    "doctor": "Versions, devices, threads, data: what a bug report needs.",
}


class LazyGroup(click.Group):
    """Loads a command when it is called; has the help of all without loading any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            raise click.UsageError(nearest("command", cmd_name, COMMANDS))
        return import_module(f"{__name__}.{cmd_name}").command

    def invoke(self, ctx: click.Context) -> Any:
        """A broken pipe is 141, not 1; streams that nobody reads lead nowhere, since Python flushes them at its end."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except BrokenPipeError:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            sys.exit(141)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ftheta")
def cli() -> None:
    """fθ: train a model, explain it, and check what the sources claim.

    \b
    ftheta train mlp digits                     a data set that is built in
    ftheta train mlp my.csv --target price      your own numbers

    Exit codes: 0 done, 2 a mistake or a damaged file, 130 Ctrl-C, 141 nobody reads the output, 143 SIGTERM.
    """


def main() -> None:
    """Run the command line; an error is one sentence without a traceback."""
    warnings.showwarning = _note  # type: ignore[assignment]
    _open_streams()
    free = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if free:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        cli.main(sys.argv[1:] or ["--help"], prog_name="ftheta", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.UsageError as error:
        message = error.format_message()
        message += "" if message[-1] in ".?" else "."
        _fail(message + (f" See `{error.ctx.command_path} --help`." if error.ctx else ""))
    except Exception as error:
        sentence = _sentence(error)
        if not sentence:
            raise
        _fail(sentence)
    finally:
        if free:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _open_streams() -> None:
    """Closed streams (`>&-`) lead nowhere, else a file would be opened as standard output; no terminal fails on θ."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")


def _terminate(number: int, frame: Any) -> NoReturn:
    sys.exit(128 + number)


def _sentence(error: Exception) -> str:
    """The message for an error of the user or the machine; empty for a bug of ours."""
    from ..errors import FThetaError

    if isinstance(error, FThetaError) or type(error).__name__ == "InvalidParameterError":  # scikit-learn's
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'A file'} cannot be used: {error.strerror or error}. Check path and permissions."
    asked = re.search(r"tried to allocate ([\d.]+ \w+)", str(error), re.IGNORECASE)  # torch's
    if asked or isinstance(error, MemoryError):
        size = f": {asked[1]} are needed" if asked else ""
        return f"Not enough memory{size}. Use smaller layers, smaller batches or less data."
    return ""


def _fail(sentence: str) -> NoReturn:
    _line(f"Error: {sentence}")
    sys.exit(2)


def _note(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None) -> None:
    _line(f"Note: {message}")


def _line(text: str) -> None:
    """One line on stderr, whatever names in it hold."""
    echo(" ".join(text.split("\n")), err=True)
