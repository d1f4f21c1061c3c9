"""The command `rgqa`. Every subcommand calls one function and imports heavy modules only when it runs."""

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
from pipeline.core.errors import require_docstrings, run_command

# The sections of `rgqa --help` and their commands.
COMMAND_SECTIONS = {
    "Evaluate a model": "run score attribute leaderboard baselines audit doubt",
    "Build a benchmark": "draft init upgrade fetch convert export-embeddings annotate explain report export",
    "Publish a release": "check publish export-results diff errata",
    "Sample and studies": "sample study",
}

app = new_app(
    "Build test sets of unanswerable questions about images, and evaluate models on them. To run the pipeline itself, "
    "use `dvc repro`."
)
RESEARCH = research_registry.command_groups()
UNNAMED = (models.app, build.app, release.app, RESEARCH[""])
for group in UNNAMED[:3]:
    app.add_typer(group)
app.add_typer(annotate, name="annotate")
for name, group in RESEARCH.items():
    app.add_typer(group, name=name or None)


def _assign_help_panels() -> None:
    """Put each command into its section of the help (`COMMAND_SECTIONS`)."""
    commands = {
        one.name or one.callback.__name__.replace("_", "-"): one
        for group in UNNAMED
        for one in group.registered_commands
        if one.callback
    }
    groups = {one.name: one for group in (*UNNAMED, app) for one in group.registered_groups}
    for section, names in COMMAND_SECTIONS.items():
        for name in names.split():
            (commands.get(name) or groups[name]).rich_help_panel = section


_assign_help_panels()


def show_version(is_requested: bool) -> None:
    """Print the version of the pipeline and exit."""
    if is_requested:
        print(f"rgqa {importlib.metadata.version('rgqa-pipeline')}")
        raise typer.Exit


@app.callback()
def root_options(
    version: Annotated[
        bool,
        Option("--version", callback=show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command `rgqa`. Each command takes `hub:OWNER/NAME@REVISION:PATH` where it takes a release or a public set."""
    require_docstrings()
    try:
        if any("hub:" in word for word in sys.argv[1:]):
            from pipeline.cli.hub_arguments import resolve_hub_arguments

            run_command(lambda: sys.argv.__setitem__(slice(1, None), resolve_hub_arguments(sys.argv[1:])))
        app()
    except ModuleNotFoundError as error:
        # A missing module of this project is a bug, so the traceback is kept.
        if str(error.name).split(".")[0] in ("pipeline", "annotation", "research"):
            raise
        sys.exit(
            f"error: {error.name} is not installed, which this command needs to build a benchmark; install everything with "
            '`pip install "rgqa-pipeline[build]"`, or in a clone with `pip install ".[build]"`'
        )
