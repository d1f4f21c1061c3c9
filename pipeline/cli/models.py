"""Commands of `rgqa` that run and score models, or attack what should not be told without an image; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command

app = new_app()
MAX_SEED = 2**32 - 1  # what NumPy and scikit-learn take
# Their options are read by the scorers themselves, as in the wheel.
FORWARD_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


@app.command(
    "run",
    add_help_option=False,
    context_settings=FORWARD_ARGUMENTS,
    epilog="Example: `rgqa run data/release/sample/1.0.0 --server http://127.0.0.1:8000 --model llava`",
)
def run_model(context: typer.Context) -> None:
    """Ask a model a release's questions and score its answers. `rgqa run --help` shows the options; docs/guides/run_a_model.md."""
    from pipeline.cli.run import main

    run_command(lambda: main(context.args))


@app.command(
    add_help_option=False,
    context_settings=FORWARD_ARGUMENTS,
    epilog="Example: `rgqa score data/release/sample/1.0.0 model.json --plots plots`",
)
def score(context: typer.Context) -> None:
    """Score predictions. `rgqa score --help` shows the options; docs/reference/scores.md defines every score."""
    from pipeline.cli.score import main

    run_command(lambda: main(context.args))


@app.command(epilog="Example: `rgqa leaderboard runs/rp-word-p-true runs/blind-word-p-true --out board`")
def leaderboard(
    results: Annotated[list[Path], Argument(help="Folders of `rgqa run`, or predictions files.")],
    release: Annotated[
        Path | None, Option(help="The release that predictions files are of; runs name theirs.")
    ] = None,
    out: Annotated[
        Path | None, Option(help="Folder for leaderboard.md, .html and .csv; printed alone if not given.")
    ] = None,
    sort_by: Annotated[
        Literal["auaf", "ff95", "facc", "auroc"],
        Option(help="The score that models are ordered and compared by."),
    ] = "auaf",
    bootstrap: Annotated[
        int,
        Option(min=100, max=1_000_000, help="Bootstrap replicates of each interval; images are resampled."),
    ] = 1000,
    seed: Annotated[int, Option(min=0, max=MAX_SEED, help="Seed of the bootstrap replicates.")] = 0,
) -> None:
    """Show models in one table, with intervals and letters. Models that share a letter are not told apart."""
    from pipeline.cli.leaderboard import write_leaderboard

    run_command(lambda: write_leaderboard(results, release, out, sort_by, bootstrap, seed))


@app.command(epilog="Example: `rgqa audit data/release/sample/1.0.0 --json audit.json`")
def audit(
    source: Annotated[
        str,
        Argument(
            metavar="SOURCE",
            help="A release, a file (JSON, JSONL, CSV, TSV, Parquet), or a folder or name of a data set for `datasets`.",
        ),
    ],
    annotations: Annotated[
        Path | None, Option(help="VQA v2: the annotations, if SOURCE has the questions only.")
    ] = None,
    config: Annotated[str | None, Option(help="Choose a configuration of a data set.")] = None,
    split: Annotated[str | None, Option(help="Choose a split of a data set.")] = None,
    text_column: Annotated[
        str | None, Option(help="Name the column of the question, if the format is not known.")
    ] = None,
    label_column: Annotated[
        str | None, Option(help="Name the column of the label, which has two values.")
    ] = None,
    positive_label: Annotated[
        str | None, Option(help="Name the value of --label that counts against all others.")
    ] = None,
    image_column: Annotated[str | None, Option(help="Name the column of the image.")] = None,
    where: Annotated[
        str | None, Option(metavar="COLUMN=VALUE", help="Use only rows with this value in this column.")
    ] = None,
    folds: Annotated[
        int | None, Option(min=2, max=100, help="Folds of the cross-validation; a release's own, else 5.")
    ] = None,
    bootstrap: Annotated[
        int | None,
        Option(min=50, max=100_000, help="Bootstrap replicates of each interval; a release's own, else 500."),
    ] = None,
    seed: Annotated[int, Option(min=0, max=MAX_SEED, help="Seed of folds, replicates and permutations.")] = 0,
    source_questions: Annotated[
        Path | None,
        Option(
            help="The questions of the source (ingest/questions.jsonl), for attackers that have read them."
        ),
    ] = None,
    balanced_subset: Annotated[
        Path | None, Option(help="Write the largest balanced subset there, in the format of SOURCE.")
    ] = None,
    json: Annotated[Path | None, Option(help="Write the figures there, JSON.")] = None,
    html: Annotated[Path | None, Option(help="Write one HTML page there.")] = None,
) -> None:
    """Measure how well the label can be predicted from the question text alone. docs/guides/audit_a_benchmark.md has the formats."""
    from pipeline.benchmark.auditing.labelled_set import ColumnOptions
    from pipeline.cli.audit import AuditOptions, run_audit

    column, equals, value = (where or "").partition("=")
    if where and not equals:
        raise typer.BadParameter("wanted COLUMN=VALUE", param_hint="--where")
    columns = ColumnOptions(
        text_column, label_column, image_column, positive_label, (column, value) if where else None
    )
    options = AuditOptions(
        source,
        annotations,
        config,
        split,
        columns,
        folds,
        bootstrap,
        seed,
        source_questions,
        balanced_subset,
        json,
        html,
    )
    run_command(lambda: run_audit(options))


@app.command(epilog="Example: `rgqa attribute 00095300 --model rp --out attribution.html`")
def attribute(
    context: typer.Context,
    items: Annotated[
        list[str] | None, Argument(metavar="ITEM...", help="Ids of items; none with --maps: all.")
    ] = None,
    model: Annotated[
        str, Option(help="A row of the leaderboard, or hf-vqa/FOLDER; without it the rows are named.")
    ] = "",
    out: Annotated[Path | None, Option(help="The page; attribution.html if not given.")] = None,
    maps: Annotated[
        Path | None, Option(help="Write grids there, for `rgqa score --resource attention=FILE`.")
    ] = None,
    method: Annotated[str, Option(help="Of the grids: attention, grad-cam, detections, rollout ...")] = "",
    seed: Annotated[int, Option(min=0, max=MAX_SEED, help="Of the row's nets.")] = 0,
    release: Annotated[
        Path | None, Option(help="Release or file of questions; this version's if not given.")
    ] = None,
    ocr_words: Annotated[Path | None, Option(help="Words in the images: [{text, box, score}], JSON.")] = None,
    ocr: Annotated[bool, Option("--ocr", help="Let rapidocr read them (extra ocr).")] = False,
    model_arg: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Of hf-vqa/, as `rgqa run` takes them.")
    ] = None,
) -> None:
    """Show where in an image a model looked; docs/guides/attribution.md."""
    if not maps:
        refuse_options(context, "method", "it chooses what --maps writes")
    if model.startswith("hf-vqa/"):
        refuse_options(context, "seed", "a model release transformers has no seed here")
    from pipeline.cli.attribute import AttributionOptions, write_attributions

    options = AttributionOptions(
        items or (), model, seed, out, maps, method, release, ocr_words, ocr, model_arg or ()
    )
    run_command(lambda: write_attributions(options))
