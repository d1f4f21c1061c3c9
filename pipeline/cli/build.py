"""Commands of `rgqa` that build a benchmark and inspect it.

Heavy modules are imported inside the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from pipeline.cli.model_options import (
    InputPriceOption,
    MaxConnectionsOption,
    MaxImageSizeOption,
    MaxTokensOption,
    OutputPriceOption,
    ServerOption,
    VisionModelOption,
)
from pipeline.core.command_line import WORKING_FOLDER_KEY, new_app, refuse_options
from pipeline.core.errors import UserError, run_command
from pipeline.core.records import Split

app = new_app()
DatasetOption = Annotated[
    str, Option(help="Write the converted files into the source folder of this data set.")
]
SplitOption = Annotated[Split, Option(help="Store the converted data as this split of the source.")]


@app.command(
    epilog="Example: `rgqa init ~/birds --images photos --questions questions.csv` (a project)\n\n"
    "Example: `rgqa init birds --images photos --questions questions.csv` (in a project: a data set)"
)
def init(
    context: typer.Context,
    target: Annotated[
        str,
        Argument(
            metavar="FOLDER|NAME",
            help="A folder (a path with a slash, or . or ~) becomes a new project. A plain name becomes a new data set of the project "
            "in which you are; outside of a project, it is a folder.",
        ),
    ],
    images: Annotated[
        Path | None, Option(help="Copy the images in this folder that have questions into the data set.")
    ] = None,
    questions: Annotated[
        Path | None,
        Option(help="Check this table of questions (.csv, .tsv, .xlsx, .parquet or .jsonl), and copy it."),
    ] = None,
    scene_graphs: Annotated[
        Path | None,
        Option(
            metavar="FOLDER",
            help="Check and copy the scene graphs in this folder (testdev_sceneGraphs.json, in the format of GQA).",
        ),
    ] = None,
    without_clip: Annotated[
        bool,
        Option(
            "--without-clip",
            help="Make the subsets of edited questions only, pt-easy and pt-hard. They need no CLIP model and no network.",
        ),
    ] = False,
) -> None:
    """Create a project in a new folder, or a new data set in a project.

    A new project has one data set, which is named after the folder. It has its own parameters (params.yaml) and stages (dvc.yaml), and
    works with or without Git. The folder must be new or empty. Run `dvc repro` there.

    A new data set NAME gets the folder data/NAME/ and a section NAME in params.yaml. Names have lower-case letters, digits and dashes.
    Afterwards set `dataset: NAME` in params.yaml, and run `dvc repro`.

    With --images and --questions (and --scene-graphs), the table and the images that it needs are checked and copied into data/NAME/source. Existing files and
    parameters stay as they are (docs/guides/own_data.md).
    """
    from pipeline.cli.init_dataset import create_dataset
    from pipeline.cli.init_project import create_project, find_target_folder

    def create() -> None:
        folder = find_target_folder(target, context.meta.get(WORKING_FOLDER_KEY))
        if folder is None:
            message = create_dataset(
                target,
                images=images,
                questions=questions,
                scene_graphs=scene_graphs,
                without_clip=without_clip,
            )
        else:
            message = create_project(
                folder, target, images, questions, scene_graphs=scene_graphs, without_clip=without_clip
            )
        print(f"init: {message}")

    run_command(create)


@app.command(
    epilog="Example: `rgqa draft photos --server http://127.0.0.1:8000 --model qwen3-vl`\n\n"
    "Example: `rgqa draft photos --model openai/gpt-4o --input-price 2.5 --output-price 10`"
)
def draft(
    images: Annotated[
        Path, Argument(metavar="FOLDER", help="The folder of the photographs. Subfolders are not read.")
    ],
    model: VisionModelOption,
    server: ServerOption = "",
    out: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="Write the draft into this folder (default: `drafts/FOLDER-MODEL`)."),
    ] = None,
    questions_per_image: Annotated[
        int, Option(min=1, max=30, help="Keep at most this number of questions about each image.")
    ] = 10,
    box_unit: Annotated[
        Literal["thousandths", "pixels"],
        Option(
            help="Ask for boxes in this unit. Some models (Qwen2.5-VL) were trained to give pixels, most others thousandths."
        ),
    ] = "thousandths",
    max_image_size: MaxImageSizeOption = 1024,
    max_tokens: MaxTokensOption = 8192,
    max_connections: MaxConnectionsOption = 0,
    input_price: InputPriceOption = None,
    output_price: OutputPriceOption = None,
    yes: Annotated[
        bool, Option("--yes", help="Continue after the cost forecast of each round without asking.")
    ] = False,
) -> None:
    """Let a vision model draft questions and scene graphs of photographs.

    The model lists what it sees in each photograph and writes answerable questions about it. It then gets each question again without
    its list, and what it answers differently is left out. Objects that it doubts are shown to it alone. The draft is a table of questions
    and scene graphs for `rgqa init`. Every row says which model drafted it, and the card of the release will say so, too.

    If the command stops, the same command resumes it. Requests that were answered are not sent again.
    """
    from pipeline.drafting.drafter import DraftOptions, run_draft
    from pipeline.inference.argument_parser import normalize_server_url
    from pipeline.inference.cost_forecast import Prices

    def run() -> None:
        url, faults = normalize_server_url(server)
        if faults:
            raise UserError(faults)
        run_draft(
            DraftOptions(
                images,
                model,
                url,
                out,
                questions_per_image,
                box_unit,
                max_image_size,
                max_tokens,
                max_connections,
                Prices(input_price, output_price),
                yes,
            )
        )

    run_command(run)


@app.command(epilog="Example: `rgqa upgrade`, after `pip install --upgrade rgqa-pipeline`")
def upgrade() -> None:
    """Let a project use the installed version of the pipeline, and print which stages will run again.

    A stage runs again if its code has changed since the version that the project used. Only a project that `rgqa init FOLDER` made
    needs this. In a clone of the repository, the stages depend on the code itself.
    """
    from pipeline.cli.init_project import upgrade_project

    run_command(lambda: print(f"upgrade: {upgrade_project()}"))


@app.command(epilog="Example: `rgqa fetch gqa --split testdev --dry-run`")
def fetch(
    context: typer.Context,
    what: Annotated[str, Argument(metavar="SOURCE", help="What to download. The only valid value is gqa.")],
    split: Annotated[
        Split | None,
        Option(
            help="Download the images of this split: testdev, val or train (default: the one in params.yaml)."
        ),
    ] = None,
    origin: Annotated[
        str,
        Option(
            "--from",
            help="Download from here: official (the authors' server), hub (the Hugging Face Hub), or the URL or folder of a copy of "
            "the archives.",
        ),
    ] = "official",
    archives_from: Annotated[
        str | None,
        Option(help="Download the official archives from this URL or folder instead of the authors' server."),
    ] = None,
    dataset: Annotated[str, Option(help="Download for this data set.")] = "gqa",
    jobs: Annotated[
        int, Option(min=1, max=32, help="Send at most this number of requests at the same time.")
    ] = 8,
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run",
            help="Print the files that would be downloaded and their sizes, and download nothing.",
        ),
    ] = False,
    full_archives: Annotated[
        bool,
        Option(
            "--full-archives",
            help="Download complete archives instead of the needed parts. Use it for servers without byte ranges.",
        ),
    ] = False,
    cache_dir: Annotated[
        Path | None, Option(help="Keep everything that is downloaded in this folder for later runs.")
    ] = None,
    offline: Annotated[
        bool, Option("--offline", help="Use only the files in --cache-dir, without a network.")
    ] = False,
    answer_choices: Annotated[
        bool, Option("--answer-choices", help="Download the answer choices of GQA's evaluation, too.")
    ] = False,
    accept_changes: Annotated[
        bool,
        Option("--accept-changes", help="Accept files that changed on the server since the first download."),
    ] = False,
) -> None:
    """Download the part of GQA that a data set needs (docs/guides/download_data.md)."""
    if dry_run:
        refuse_options(context, "accept_changes", "--dry-run downloads nothing")
    if offline:
        refuse_options(context, "jobs full_archives", "--offline uses no server")
    from pipeline.sources.download.fetch import FetchOptions, fetch

    options = FetchOptions(
        dataset=dataset,
        split=split,
        origin=origin,
        archives_from=archives_from,
        jobs=jobs,
        dry_run=dry_run,
        full_archives=full_archives,
        cache_dir=cache_dir,
        offline=offline,
        answer_choices=answer_choices,
        accept_changes=accept_changes,
    )
    run_command(lambda: fetch(what, options))


convert = new_app(
    "Convert other sources to the formats that the pipeline reads.",
    "rgqa convert vqa questions.json annotations.json --dataset vqa",
)
app.add_typer(convert, name="convert")


@convert.command(
    epilog="Example: `rgqa convert vqa v2_OpenEnded_mscoco_val2014_questions.json v2_mscoco_val2014_annotations.json --dataset vqa`"
)
def vqa(
    questions: Annotated[Path, Argument(help="File of questions in the format of VQA v2.")],
    annotations: Annotated[Path, Argument(help="File of annotations in the format of VQA v2.")],
    dataset: DatasetOption,
    split: SplitOption = "val",
    image_prefix: Annotated[
        str | None,
        Option(
            help="Put this prefix before image numbers in file names (default: `COCO_<data_subtype>_`, for example `COCO_val2014_`)."
        ),
    ] = None,
    image_digits: Annotated[
        int, Option(min=1, max=20, help="Pad image numbers with zeros to this length.")
    ] = 12,
) -> None:
    """Convert questions and annotations from the format of VQA v2 (ten answers per question) to the format of GQA."""
    from pipeline.sources.vqa_files import convert_questions

    run_command(
        lambda: print(
            f"convert: {convert_questions(questions, annotations, dataset, split, image_prefix, image_digits)}"
        )
    )


@convert.command(
    epilog="Example: `rgqa convert visual-genome scene_graphs.json image_data.json --dataset vqa --split train`"
)
def visual_genome(
    graphs: Annotated[Path, Argument(help="File scene_graphs.json of Visual Genome.")],
    images: Annotated[Path, Argument(help="File image_data.json of Visual Genome.")],
    dataset: DatasetOption,
    split: SplitOption = "train",
    attributes: Annotated[
        Path | None, Option(help="Add the attributes in attributes.json of Visual Genome.")
    ] = None,
) -> None:
    """Convert scene graphs of Visual Genome to the format of GQA."""
    from pipeline.sources.visual_genome import convert_scene_graphs

    run_command(lambda: print(f"convert: {convert_scene_graphs(graphs, images, dataset, split, attributes)}"))


@app.command(epilog="Example: `rgqa export-embeddings`")
def export_embeddings() -> None:
    """Write the embeddings of stages `embed` and `similarity` to `data/NAME/embeddings/clip.safetensors`, so
    that other users need not compute them.
    """
    from pipeline.candidates.encoders.embedding_cache import export_embeddings

    run_command(lambda: print(f"export-embeddings: -> {export_embeddings()}"))


@app.command(epilog="Example: `rgqa explain 00095300` (an item of the sample)")
def explain(
    question_id: Annotated[str, Argument(help="Id of an item, a candidate or a source question.")],
) -> None:
    """Print where an item, a candidate or a source question comes from, and what each stage did with it."""
    from pipeline.cli.explain import explain_item
    from pipeline.core.paths import DatasetFolders

    run_command(lambda: print("\n".join(explain_item(question_id, DatasetFolders()))))


@app.command(epilog="Example: `rgqa report --examples-per-subset 6`")
def report(
    context: typer.Context,
    out: Annotated[
        Path | None,
        Option(help="Write the page to this file (default: `data/NAME/report.html`)."),
    ] = None,
    examples_per_subset: Annotated[
        int,
        Option(help="Show this number of items of each subset with their images, 0 to 25.", min=0, max=25),
    ] = 12,
    attribution: Annotated[
        str | None,
        Option(
            metavar="ROW",
            help="Show where this model of the data set's leaderboard looks in the images of 24 random items.",
        ),
    ] = None,
) -> None:
    """Write an HTML page about a pipeline run.

    With --attribution, the page shows instead where a model looks in the images.
    """
    if attribution:
        refuse_options(context, "examples_per_subset", "--attribution shows 24 items")
        from pipeline.benchmark.report.attribution_page import write_attribution_report

        run_command(lambda: write_attribution_report(attribution, out=out))
        return
    from pipeline.benchmark.report.report_page import write_report

    run_command(lambda: write_report(out, examples_per_subset))


@app.command(epilog="Example: `rgqa export items --out items.xlsx`")
def export(
    source: Annotated[
        str,
        Argument(
            help="What to export: items, verdicts, dropped (the removed candidates), or the path of a JSONL file of a stage."
        ),
    ],
    out: Annotated[Path, Option(help="Write the table to this file (.csv, .xlsx or .parquet).")],
) -> None:
    """Export results of a pipeline run as a table for a notebook or spreadsheet.

    Ids are strings, so read CSV files with dtype=str.
    """
    from pipeline.cli.export import export_table

    run_command(lambda: export_table(source, out))
