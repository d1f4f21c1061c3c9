"""`rgqa annotate`: thin commands over the people's half of the pipeline; heavy imports happen inside."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.core.errors import run

app = typer.Typer(help="The people's half: a Label Studio, its tasks and verdicts.", no_args_is_help=True, rich_markup_mode=None)


@app.command(epilog="Example: rgqa annotate serve")
def serve(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 8080,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the server; all that people did is kept.")] = False,
) -> None:
    """Start a Label Studio of our own, make the projects and push the tasks."""
    from annotation.server import serve

    run(lambda: serve.stop() if stop else serve.serve(port))


@app.command(epilog="Example: rgqa annotate invite ann ben --share 2")
def invite(
    names: Annotated[list[str], typer.Argument(help="Names of annotators.")],
    share: Annotated[float, typer.Option(help="How much they take of the work, beside others' 1.")] = 1.0,
    leave: Annotated[bool, typer.Option("--leave", help="They leave: their open tasks go to others.")] = False,
) -> None:
    """Let annotators join or leave, each with an account and a queue of their own."""
    from annotation.invite import invite

    run(lambda: invite(names, share=share, leave=leave))


@app.command(epilog="Example: rgqa annotate push")
def push() -> None:
    """Put the tasks that are missing into the projects; what is there already stays."""
    from annotation.push import push

    run(push)


@app.command(epilog="Example: rgqa annotate status")
def status() -> None:
    """Print what is done and open, the pace, and the filter questions so far."""
    from annotation.status import status

    run(status)


@app.command(epilog="Example: rgqa annotate pull")
def pull() -> None:
    """Fetch the verdicts; earlier ones are never lost. Then: dvc repro."""
    from annotation.pull import pull

    run(pull)
