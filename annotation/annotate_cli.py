"""`rgqa annotate`: thin commands over the people's half of the pipeline; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.core.errors import run

app = typer.Typer(
    help="The people's half: a Label Studio, its tasks and verdicts.",
    epilog="Example: rgqa annotate serve",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(epilog="Example: rgqa annotate serve")
def serve(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8080,
    stop: Annotated[bool, typer.Option("--stop", help="Stop it; all that people did is kept.")] = False,
) -> None:
    """Start a Label Studio of our own, make the projects and push the tasks."""
    from annotation.server import serve

    run(lambda: serve.stop() if stop else serve.serve(port))


@app.command(epilog="Example: rgqa annotate invite ann ben --share 2")
def invite(
    names: Annotated[list[str], typer.Argument(help="Names of annotators.")],
    share: Annotated[float, typer.Option(help="How much they take of the work, beside others' 1.")] = 1.0,
    leave: Annotated[bool, typer.Option("--leave", help="Their open tasks go to others.")] = False,
) -> None:
    """Let annotators join or leave, each with an account and a queue of their own."""
    from annotation.server.accounts import invite

    run(lambda: invite(names, share=share, leave=leave))


@app.command(epilog="Example: rgqa annotate push")
def push() -> None:
    """Put the tasks that are missing into the projects; what is there already stays."""
    from annotation.client.push import push

    run(push)


@app.command(epilog="Example: rgqa annotate status")
def status() -> None:
    """Print what is done and open, the pace, and the filter questions so far."""
    from annotation.client.status import status

    run(status)


@app.command(epilog="Example: rgqa annotate pull")
def pull() -> None:
    """Fetch the verdicts; earlier ones are never lost. Then: dvc repro."""
    from annotation.client.pull import pull

    run(pull)


@app.command(epilog="Example: rgqa annotate report")
def report() -> None:
    """Print how far the verdicts can be relied on, and where the quality report is."""
    from annotation.client.show_quality import report

    run(report)


study = typer.Typer(
    help="The human study: how well do people reject?", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(study, name="study")


@study.command(epilog="Example: rgqa annotate study draw --each 50 --seed 1")
def draw(
    release: Annotated[
        Path | None, typer.Option(help="A release's folder; by default the version in params.yaml.")
    ] = None,
    each: Annotated[int, typer.Option(min=1, help="AQs, and UQs, of each subset.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0,
    pictures: Annotated[
        str, typer.Option(help="What stands before a picture's path in data/, on a server elsewhere.")
    ] = "",
) -> None:
    """Draw AQs and UQs of a release as tasks with one question each."""
    from annotation.study.human_study import draw

    run(lambda: draw(release, each, seed, pictures))


@study.command(epilog="Example: rgqa annotate study score export.json")
def score(
    exports: Annotated[list[Path], typer.Argument(help="Exports of the study's project, format JSON.")],
) -> None:
    """Write what people said for `rgqa score --extra human=FILE`, and print their rates."""
    from annotation.study.human_study import score

    run(lambda: score(exports))
