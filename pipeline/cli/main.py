"""`rgqa`: the command-line door. Every command is a thin layer over one function; heavy imports happen inside."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated

import typer
from typer import Option

from annotation.cli import app as annotate
from pipeline import research_registry
from pipeline.cli import build, models, release
from pipeline.core.command_line import new_app
from pipeline.core.errors import refuse_stripped_docstrings

# The sections of `rgqa --help` and their commands.
SECTIONS = {
    "I have a model": "run score look leaderboard baselines audit",
    "I build a benchmark": "init fetch convert vectors annotate explain report table",
    "I release it": "check publish diff errata",
    "The project itself": "sample study",
}

app = new_app(
    "Build test sets of unanswerable questions about images. The pipeline itself runs with `dvc repro`."
)
RESEARCH = research_registry.command_groups()
UNNAMED = (models.app, build.app, release.app, RESEARCH[""])
for group in UNNAMED[:3]:
    app.add_typer(group)
app.add_typer(annotate, name="annotate")
for name, group in RESEARCH.items():
    app.add_typer(group, name=name or None)


def _group_by_purpose() -> None:
    """Put each command into its section, in the order of `SECTIONS`."""
    commands = {
        one.name or one.callback.__name__: one
        for group in UNNAMED
        for one in group.registered_commands
        if one.callback
    }
    groups = {one.name: one for group in (*UNNAMED, app) for one in group.registered_groups}
    for section, names in SECTIONS.items():
        for name in names.split():
            (commands.get(name) or groups[name]).rich_help_panel = section


_group_by_purpose()


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
    refuse_stripped_docstrings()
    try:
        app()
    except ModuleNotFoundError as error:
        ours = ("pipeline", "annotation", "research")
        if str(error.name).split(".")[0] in ours:
            raise
        sys.exit(
            f"error: {error.name} is not installed: this command belongs to building a benchmark, not to scoring one; "
            'install the whole from a clone with `pip install ".[build]"`'
        )
