"""`ftheta export`: a trained run as files that need no fθ."""

from pathlib import Path

import click

from ._show import echo, say_loading


@click.command("export", short_help="Export a model as plain PyTorch, without fθ.")
@click.argument("run")
@click.option("--python", is_flag=True, default=True, help="As one PyTorch script with its weights: the only format.")
@click.option("-o", "--output", help="Folder; default: RUN's id and -python, here.", type=click.Path(path_type=Path))
def command(run: str, python: bool, output: Path | None) -> None:
    """Write RUN (a folder, an id, or last) as a folder that predicts and trains without fθ.

    `python model.py new.csv` there predicts the same as `ftheta predict RUN new.csv`; its train() is a plain loop of
    Adam with the same loss. The run itself stays as it is.
    """
    say_loading()
    from .. import jobs

    files = jobs.open(run).export(output)
    echo(f"{files[0].parent}: {', '.join(file.name for file in files)}; try: python {files[0]} --help")
