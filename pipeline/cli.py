"""`rgqa`: the command-line door. Every command is a thin layer over one function; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.core.errors import run

app = typer.Typer(
    help="Build test sets of unanswerable questions about images. The pipeline itself runs with `dvc repro`.",
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
)


@app.command(epilog="Example: rgqa explain clipeasy_n460556+202082119")
def explain(question_id: Annotated[str, typer.Argument(help="Id of an item, a candidate or a source question.")]) -> None:
    """Print an item's whole story: source, edits, CLIP score and rank, evidence, verdicts, pairing."""
    from pipeline.core.paths import Folders
    from pipeline.explain import explain

    run(lambda: print("\n".join(explain(question_id, Folders()))))


@app.command(epilog="Example: rgqa check data/release/sample/1.0.0")
def check(release: Annotated[Path, typer.Argument(help="A release's folder.")]) -> None:
    """Check that a release is whole and that its sanity predictions get the scores it states."""
    from pipeline.releasing.check import check_release

    run(lambda: print(f"check: {check_release(release)}"))


@app.command(epilog="Example: rgqa publish data/release/sample/1.0.0 --to published")
def publish(
    release: Annotated[Path, typer.Argument(help="A release's folder, data/release/<data set>/<version>.")],
    to: Annotated[Path, typer.Option(help="Where published versions stay.")] = Path("published"),
) -> None:
    """Copy a release to an immutable version; refuse to replace different bytes."""
    from pipeline.releasing.publish import publish

    run(lambda: print(f"publish: {publish(release, to)}"))


@app.command(epilog="Example: rgqa init birds")
def init(name: Annotated[str, typer.Argument(help="Name of the new data set: lower-case letters, digits and dashes.")]) -> None:
    """Make the folders of a data set of your own and its section of params.yaml."""
    from pipeline.newdata import init

    run(lambda: print(f"init: {init(name)}"))


def main() -> None:
    """Entry point of the `rgqa` command."""
    app()


if __name__ == "__main__":
    main()
