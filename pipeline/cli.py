"""`rgqa`: the command-line door. Every command is a thin layer over one function; heavy imports happen inside."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from annotation.annotate_cli import app as annotate
from pipeline import build_cli, model_cli, release_cli
from sample_world.sample_cli import app as sample
from studies.study_cli import app as study

# What `rgqa --help` shows, in its order.
SECTIONS = {
    "I have a model": "run score look leaderboard baselines audit leaks",
    "I build a benchmark": "init fetch convert vectors annotate explain report table",
    "I release it": "check publish diff errata",
    "The project itself": "sample study",
}
SHORT = 80  # characters of what is said of each, at most


class Sections(TyperGroup):
    """Commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write them."""
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name, self.commands[name].get_short_help_str(SHORT)) for name in names.split()]
                formatter.write_dl(rows)


app = typer.Typer(
    cls=Sections,
    help="Build test sets of unanswerable questions about images. The pipeline itself runs with `dvc repro`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for part in (model_cli, build_cli, release_cli):
    app.add_typer(part.app)
app.add_typer(annotate, name="annotate")
app.add_typer(sample, name="sample")
app.add_typer(study, name="study")


def show_version(wanted: bool) -> None:
    """Print the version of the pipeline and end."""
    if wanted:
        print(f"rgqa {importlib.metadata.version('rgqa-pipeline')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        Option("--version", callback=show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the `rgqa` command."""
    try:
        app()
    except ModuleNotFoundError as error:
        ours = ("pipeline", "annotation", "simulation", "sample_world", "studies")
        if str(error.name).split(".")[0] in ours:
            raise
        sys.exit(
            f"error: {error.name} is not installed: this command belongs to building a benchmark, not to scoring one; "
            'install the whole from a clone with `pip install ".[build]"`'
        )


if __name__ == "__main__":
    main()
