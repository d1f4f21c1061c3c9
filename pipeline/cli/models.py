"""Commands of `rgqa` that evaluate models and audit benchmarks.

Heavy modules are imported inside the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command

app = new_app()
# The largest seed of NumPy and scikit-learn.
MAX_SEED = 2**32 - 1
# `run` and `score` pass their options on to the argparse parsers of `rgqa-run` and `rgqa-score`, which are in
# the scorers' wheel.
FORWARD_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


TextColumnOption = Annotated[
    str | None,
    Option(metavar="COLUMN", help="Read questions from this column, if the format is not recognized."),
]
LabelColumnOption = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        help="Read labels from this column. If it has more than two values, give --positive-label, too.",
    ),
]
PositiveLabelOption = Annotated[
    str | None,
    Option(metavar="VALUE", help="Treat this value of --label-column as label 1 and all others as label 0."),
]
ImageColumnOption = Annotated[
    str | None, Option(metavar="COLUMN", help="Read the name of each row's image from this column.")
]

AnnotationsOption = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Read the annotations of VQA v2 from this file, if SOURCE has only the questions.",
    ),
]
ConfigOption = Annotated[
    str | None, Option(metavar="NAME", help="If SOURCE is loaded by `datasets`: load this configuration.")
]
WhereOption = Annotated[
    str | None, Option(metavar="COLUMN=VALUE", help="Use only rows with this value in this column.")
]


@app.command(
    "run",
    add_help_option=False,
    context_settings=FORWARD_ARGUMENTS,
    epilog="Example: `rgqa run data/release/sample/1.0.0 --server http://127.0.0.1:8000 --model llava`",
)
def run_model(context: typer.Context) -> None:
    """Run a model on the questions of a release and score its answers (docs/guides/run_a_model.md)."""
    from pipeline.cli.run import main

    run_command(lambda: main(context.args))


@app.command(
    add_help_option=False,
    context_settings=FORWARD_ARGUMENTS,
    epilog="Example: `rgqa score data/release/sample/1.0.0 model.json --plots plots`",
)
def score(context: typer.Context) -> None:
    """Score the predictions of models (docs/reference/scores.md defines every score)."""
    from pipeline.cli.score import main

    run_command(lambda: main(context.args))


@app.command(
    epilog="Example: `rgqa leaderboard runs/llava-abstain-abstention runs/gpt-4o-abstain-abstention --out board`"
)
def leaderboard(
    results: Annotated[
        list[Path],
        Argument(
            metavar="RESULT",
            help="Folders that `rgqa run` wrote, folders of such folders, or predictions files. Runs on public sets (docs/guides/public_sets.md) "
            "are compared over all their sets.",
        ),
    ],
    release: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Use this release, whose questions the predictions files answer. Not needed for folders of `rgqa run`, which record "
            "their release.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Write leaderboard.md, .html and .csv into this folder, in addition to the printed table.",
        ),
    ] = None,
    sort_by: Annotated[
        Literal["auaf", "ff95", "facc", "auroc"],
        Option(help="Rank and compare the models by this score (docs/reference/scores.md)."),
    ] = "auaf",
    bootstrap: Annotated[
        int,
        Option(
            min=100,
            max=1_000_000,
            help="Use this number of bootstrap replicates (over images) per interval; with public sets, of random halves of the images.",
        ),
    ] = 1000,
    label_noise: Annotated[
        str,
        Option(
            metavar="audit|FILE",
            help="Include errors of the labels in all intervals and ranks: those of the release's audit sample (audit), or of a file that "
            "`rgqa doubt --out` wrote.",
        ),
    ] = "",
    seed: Annotated[int, Option(min=0, max=MAX_SEED, help="Set the seed of the bootstrap.")] = 0,
) -> None:
    """Compare models in one table, with confidence intervals.

    The table has a column of letters (compact letter display). Models with a common letter are statistically indistinguishable.

    Runs on public sets, alone or with runs on releases, make a table with a column for each set, mean ranks over the sets, and the agreement
    of the sets.
    """
    from pipeline.cli.leaderboard import write_leaderboard

    run_command(lambda: write_leaderboard(results, release, out, sort_by, bootstrap, seed, label_noise))


@app.command(
    epilog="Example: `rgqa audit data/release/sample/1.0.0 --json audit.json`\n\n"
    "Example: `rgqa audit questions.csv --text-column question --label-column type --positive-label unanswerable`"
)
def audit(
    source: Annotated[
        str,
        Argument(
            metavar="SOURCE",
            help="A release, a public set (docs/guides/public_sets.md), a file (JSON, JSONL, CSV, TSV, Parquet), hub:OWNER/NAME@REVISION:PATH on "
            "the Hugging Face Hub, or a data set (folder or name) for the library `datasets`.",
        ),
    ],
    annotations: AnnotationsOption = None,
    config: ConfigOption = None,
    split: Annotated[
        str | None, Option(metavar="NAME", help="If SOURCE is loaded by `datasets`: load this split.")
    ] = None,
    text_column: TextColumnOption = None,
    label_column: LabelColumnOption = None,
    positive_label: PositiveLabelOption = None,
    image_column: ImageColumnOption = None,
    where: WhereOption = None,
    folds: Annotated[
        int | None,
        Option(
            min=2,
            max=100,
            help="Use this number of cross-validation folds (default: that of the release, or 5).",
        ),
    ] = None,
    bootstrap: Annotated[
        int | None,
        Option(
            min=50,
            max=100_000,
            help="Use this number of bootstrap replicates (default: that of the release, or 500).",
        ),
    ] = None,
    seed: Annotated[
        int, Option(min=0, max=MAX_SEED, help="Set the seed of folds, bootstrap and permutations.")
    ] = 0,
    source_questions: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Read the source questions (ingest/questions.jsonl) for the classifiers that compare each text with them.",
        ),
    ] = None,
    balanced_subset: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="Write a balanced subset to this file (with --annotations: into this folder), in the format of SOURCE. It is the "
            "largest subset in which each text and each image has as many rows of one label as of the other.",
        ),
    ] = None,
    json: Annotated[Path | None, Option(metavar="FILE", help="Write all results to this JSON file.")] = None,
    html: Annotated[Path | None, Option(metavar="FILE", help="Write a report to this HTML file.")] = None,
) -> None:
    """Measure how well the text of a question alone reveals its label, for example whether it is answerable
    (docs/guides/audit_a_benchmark.md).
    """
    from pipeline.benchmark.auditing.labelled_set import make_column_options
    from pipeline.cli.audit import AuditOptions, run_audit

    def run() -> None:
        columns = make_column_options(text_column, label_column, image_column, positive_label, where)
        run_audit(
            AuditOptions(
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
        )

    run_command(run)


@app.command(
    epilog="Example: `rgqa doubt data/release/sample/1.0.0 llava.json gpt-4o.json qwen.json --out doubt.csv`\n\n"
    "Example: `rgqa doubt coco_pope_popular.json llava.json qwen.json --annotate --images val2014`"
)
def doubt(
    context: typer.Context,
    source: Annotated[
        str, Argument(metavar="SOURCE", help="A release, or any other set that `rgqa audit` reads.")
    ],
    predictions: Annotated[
        list[Path],
        Argument(
            metavar="PREDICTIONS",
            help="Predictions files of models on this set, or folders that `rgqa run` wrote.",
        ),
    ],
    subset: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Examine only this subset of a release. Can be repeated."),
    ] = None,
    annotations: AnnotationsOption = None,
    config: ConfigOption = None,
    split: Annotated[str | None, Option(metavar="NAME", help="Examine only this split.")] = None,
    text_column: TextColumnOption = None,
    label_column: LabelColumnOption = None,
    positive_label: PositiveLabelOption = None,
    image_column: ImageColumnOption = None,
    where: WhereOption = None,
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE", help="Write all items with probabilities and reasons to this .csv or .json file."
        ),
    ] = None,
    annotate: Annotated[
        bool,
        Option(
            "--annotate",
            help="Make annotation tasks of the most doubted items, as a data set NAME-doubt, for `rgqa annotate` and then `rgqa errata collect`.",
        ),
    ] = False,
    items: Annotated[
        int,
        Option(
            metavar="N", min=1, max=1_000_000, help="With --annotate: let people judge this number of items."
        ),
    ] = 100,
    images: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="With --annotate: take the images from this folder, where they are named by id, or as COCO names them. Not needed for a release of this project.",
        ),
    ] = None,
    seed: Annotated[
        int, Option(min=0, max=MAX_SEED, help="Set the seed of folds, bootstrap and annotation tasks.")
    ] = 0,
) -> None:
    """Estimate which labels of a set are wrong, from the answers of several models
    (docs/guides/find_wrong_labels.md).
    """
    if not annotate:
        refuse_options(context, "items images", "it only changes --annotate")

    def run() -> None:
        from pipeline.benchmark.auditing.labelled_set import make_column_options
        from pipeline.benchmark.label_errors.evidence import SetOptions
        from pipeline.cli.doubt import QueueOptions, write_doubt

        columns = make_column_options(text_column, label_column, image_column, positive_label, where)
        options = SetOptions(subset or (), split, annotations, config, columns)
        queue = QueueOptions(items, images) if annotate else None
        write_doubt(source, predictions, options, out, seed, queue)

    run_command(run)


@app.command(epilog="Example: `rgqa attribute 00095300 --model rp --out attribution.html`")
def attribute(
    context: typer.Context,
    items: Annotated[
        list[str] | None,
        Argument(metavar="ITEM", help="Ids of items. With --maps, no id means all items."),
    ] = None,
    model: Annotated[
        str,
        Option(
            metavar="MODEL",
            help="Use this model of the data set's leaderboard (stage `leaderboard`), or hf-vqa/FOLDER. Without this option, list the models.",
        ),
    ] = "",
    out: Annotated[
        Path | None,
        Option(metavar="FILE", help="Write the page to this file (default: attribution.html)."),
    ] = None,
    maps: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write attribution maps to this file, for `rgqa score --resource attention=FILE`.",
        ),
    ] = None,
    method: Annotated[
        str,
        Option(
            metavar="METHOD",
            help="Write the maps of this method, for example attention or grad-cam. The message for an unknown method lists the "
            "methods of the model.",
        ),
    ] = "",
    seed: Annotated[
        int,
        Option(
            metavar="N",
            min=0,
            max=MAX_SEED,
            help="Use the copy of the model that was trained with this seed.",
        ),
    ] = 0,
    release: Annotated[
        Path | None,
        Option(
            metavar="PATH",
            help="Read items from this release or file of questions (default: the release of the current data set whose version is `version` in params.yaml).",
        ),
    ] = None,
    ocr_words: Annotated[
        Path | None,
        Option(metavar="FILE", help="Show the words in this JSON file: [{text, box, score}]."),
    ] = None,
    ocr: Annotated[
        bool,
        Option(
            "--ocr",
            help='Recognize the words in the images with rapidocr (needs pip install ".[ocr]").',
        ),
    ] = False,
    model_arg: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="Set an argument of an hf-vqa/ model, as in `rgqa run`."),
    ] = None,
) -> None:
    """Show where in an image a model looks to answer a question (docs/guides/attribution.md)."""
    if not maps:
        refuse_options(context, "method", "it only changes --maps")
    if model.startswith("hf-vqa/"):
        refuse_options(context, "seed", "a model of transformers has no seed")
    from pipeline.cli.attribute import AttributionOptions, write_attributions

    options = AttributionOptions(
        items or (), model, seed, out, maps, method, release, ocr_words, ocr, model_arg or ()
    )
    run_command(lambda: write_attributions(options))
