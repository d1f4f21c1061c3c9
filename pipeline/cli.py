"""`rgqa`: the command-line door. Every command is a thin layer over one function; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from annotation.cli import app as annotate
from pipeline.core.errors import run

app = typer.Typer(
    help="Build test sets of unanswerable questions about images. The pipeline itself runs with `dvc repro`.",
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
)
app.add_typer(annotate, name="annotate")


@app.command(epilog="Example: rgqa explain clipeasy_n460556+202082119")
def explain(question_id: Annotated[str, typer.Argument(help="Id of an item, a candidate or a source question.")]) -> None:
    """Print the whole story of an item."""
    from pipeline.core.paths import Folders
    from pipeline.explain import explain

    run(lambda: print("\n".join(explain(question_id, Folders()))))


@app.command(epilog="Example: rgqa check data/release/sample/1.0.0")
def check(release: Annotated[Path, typer.Argument(help="A release's folder.")]) -> None:
    """Check that a release is whole."""
    from pipeline.releasing.check import check_release

    run(lambda: print(f"check: {check_release(release)}"))


@app.command(epilog="Example: rgqa publish data/release/sample/1.0.0 --to published")
def publish(
    release: Annotated[Path, typer.Argument(help="A release's folder, data/release/<data set>/<version>.")],
    to: Annotated[Path, typer.Option(help="Where published versions stay.")] = Path("published"),
) -> None:
    """Copy a release to an immutable version."""
    from pipeline.releasing.publish import publish

    run(lambda: print(f"publish: {publish(release, to)}"))


@app.command(epilog="Example: rgqa init birds")
def init(name: Annotated[str, typer.Argument(help="Name of the new data set: lower-case letters, digits and dashes.")]) -> None:
    """Make room for a data set of your own."""
    from pipeline.newdata import init

    run(lambda: print(f"init: {init(name)}"))


@app.command(epilog="Example: rgqa vectors")
def vectors() -> None:
    """Keep the computed vectors for others."""
    from pipeline.stages.embed import export_vectors

    run(lambda: print(f"vectors: -> {export_vectors()}"))


@app.command(epilog="Example: rgqa score data/release/sample/1.0.0 model.json --plots plots")
def score(
    benchmark: Annotated[Path, typer.Argument(help="A release's folder, a subset's JSON, or GQA's or VQA's file.")],
    predictions: Annotated[list[Path], typer.Argument(help="JSON, JSONL, CSV or Parquet; several are compared.")],
    scores: Annotated[str, typer.Option(help="Groups of scores, comma between; all that fit if not given.")] = "",
    subset: Annotated[list[str] | None, typer.Option(help="Subset of a release; may be repeated.")] = None,
    mode: Annotated[str, typer.Option(help="strict, or parity: the numbers of RGQA's published script.")] = "strict",
    match: Annotated[str, typer.Option(help="How answers are compared: case (letter case aside) or exact.")] = "case",
    bootstrap: Annotated[int, typer.Option(min=0, help="Repetitions for intervals, 0 for none.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    threshold: Annotated[float, typer.Option(help="For scores at one fixed threshold.")] = 0.5,
    allow_missing: Annotated[bool, typer.Option("--allow-missing", help="Count items without a prediction as rejected.")] = False,
    free_text: Annotated[bool, typer.Option("--free-text", help="Read abstentions from the answers instead of confidences.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write every number, unrounded.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for scores.json and scores.txt.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Folder for plots, as SVG and PNG.")] = None,
    vectors: Annotated[str | None, typer.Option(help="Word vectors (text file or spaCy model), for MaSSeS.")] = None,
    wordnet: Annotated[Path | None, typer.Option(help="WordNet's folder dict, for WUPS.")] = None,
    all_questions: Annotated[Path | None, typer.Option(help="GQA's unbalanced questions, for consistency.")] = None,
    choices: Annotated[Path | None, typer.Option(help="GQA's choices, for validity and plausibility.")] = None,
    scenes: Annotated[Path | None, typer.Option(help="GQA's scene graphs, for grounding.")] = None,
    attention: Annotated[Path | None, typer.Option(help="The model's attention, for grounding.")] = None,
    human: Annotated[Path | None, typer.Option(help="People's judgements: a list of {question_id, accepted}.")] = None,
    run_log: Annotated[Path | None, typer.Option(help="JSON lines with seconds, items, memory_bytes.")] = None,
) -> None:
    """Score predictions (docs/scores.md defines every score)."""
    from pipeline.scoring.score import options_of, score

    run(lambda: score(
        benchmark, predictions,
        options_of(scores, mode=mode, match=match, repetitions=bootstrap, seed=seed, threshold=threshold, allow_missing=allow_missing, free_text=free_text),
        subsets=subset or (), json_file=json, folder=out, plots=plots, vectors=vectors, wordnet=wordnet,
        files={"all_questions": all_questions, "choices": choices, "scenes": scenes, "attention": attention, "human": human, "run_log": run_log},
    ))


def main() -> None:
    """Entry point of the `rgqa` command."""
    app()


if __name__ == "__main__":
    main()
