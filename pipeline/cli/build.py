"""Commands of `rgqa` that make a benchmark and look at it; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command
from pipeline.core.records import Split

app = new_app()
DatasetOption = Annotated[str, Option(help="Name of the data set.")]
SplitOption = Annotated[Split, Option(help="testdev, train, val or test.")]


@app.command(epilog="Example: `rgqa init birds`")
def init(
    name: Annotated[str, Argument(help="Name of the new data set: lower-case letters, digits and dashes.")],
) -> None:
    """Make room for a data set of your own."""
    from pipeline.cli.init_dataset import create_dataset

    run_command(lambda: print(f"init: {create_dataset(name)}"))


@app.command(epilog="Example: `rgqa fetch gqa --split testdev --dry-run`")
def fetch(
    context: typer.Context,
    what: Annotated[str, Argument(help="What to fetch: gqa.")],
    split: Annotated[
        Split | None,
        Option(help="Whose images: testdev, val or train; as params.yaml says if not given."),
    ] = None,
    origin: Annotated[
        str, Option("--from", help="official, hub, or a copy of the archives: web address or folder.")
    ] = "official",
    archives_from: Annotated[str | None, Option(help="Address of the archives, if not the authors'.")] = None,
    dataset: Annotated[str, Option(help="Name of the data set that is fetched for.")] = "gqa",
    jobs: Annotated[int, Option(min=1, max=32, help="Requests at the same time.")] = 8,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say what would be fetched, and how much.")
    ] = False,
    whole: Annotated[
        bool, Option("--full-archives", help="Fetch archives whole, from servers that ignore byte ranges.")
    ] = False,
    cache_dir: Annotated[Path | None, Option(help="Folder that keeps all that is received.")] = None,
    offline: Annotated[bool, Option("--offline", help="Take all from the cache, ask no server.")] = False,
    choices: Annotated[
        bool, Option("--answer-choices", help="The choices of GQA's evaluation, too.")
    ] = False,
    accept_changed: Annotated[
        bool, Option("--accept-changes", help="Take what changed since it was first seen.")
    ] = False,
) -> None:
    """Fetch GQA, of it only what a data set needs. docs/guides/download_data.md."""
    if dry_run:
        refuse_options(context, "accept_changed", "--dry-run changes nothing")
    if offline:
        refuse_options(context, "jobs whole", "--offline asks no server")
    from pipeline.sources.download.fetch import FetchOptions, fetch

    options = FetchOptions(
        dataset=dataset,
        split=split,
        origin=origin,
        archives_from=archives_from,
        jobs=jobs,
        dry_run=dry_run,
        full_archives=whole,
        cache_dir=cache_dir,
        offline=offline,
        answer_choices=choices,
        accept_changes=accept_changed,
    )
    run_command(lambda: fetch(what, options))


convert = new_app(
    "Write other sources in the form that the pipeline reads.",
    "rgqa convert vqa questions.json annotations.json --dataset vqa",
)
app.add_typer(convert, name="convert")


@convert.command(
    epilog="Example: `rgqa convert vqa v2_OpenEnded_mscoco_val2014_questions.json v2_mscoco_val2014_annotations.json --dataset vqa`"
)
def vqa(
    questions: Annotated[Path, Argument(help="File of questions, in the form of VQA v2.")],
    annotations: Annotated[Path, Argument(help="File of annotations, in the form of VQA v2.")],
    dataset: DatasetOption,
    split: SplitOption = "val",
    image_prefix: Annotated[
        str | None, Option(help="Prefix of the images' names; `COCO_SUBTYPE_` if not given.")
    ] = None,
    image_digits: Annotated[int, Option(min=1, max=20, help="Of the images' numbers.")] = 12,
) -> None:
    """Questions with ten answers each, in the form of VQA v2."""
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
    graphs: Annotated[Path, Argument(help="Visual Genome's scene_graphs.json.")],
    images: Annotated[Path, Argument(help="Visual Genome's image_data.json.")],
    dataset: DatasetOption,
    split: SplitOption = "train",
    attributes: Annotated[Path | None, Option(help="Visual Genome's attributes.json.")] = None,
) -> None:
    """Visual Genome's own scene graphs."""
    from pipeline.sources.visual_genome import convert_scene_graphs

    run_command(lambda: print(f"convert: {convert_scene_graphs(graphs, images, dataset, split, attributes)}"))


@app.command(epilog="Example: `rgqa export-embeddings`")
def export_embeddings() -> None:
    """Write the vectors of `embed` and `similarity` for others. They go to `data/NAME/embeddings/clip.safetensors`."""
    from pipeline.candidates.encoders.embedding_cache import export_embeddings

    run_command(lambda: print(f"vectors: -> {export_embeddings()}"))


@app.command(epilog="Example: `rgqa explain 00095300` (an item of the sample)")
def explain(
    question_id: Annotated[str, Argument(help="Id of an item, a candidate or a source question.")],
) -> None:
    """Print the whole story of an item."""
    from pipeline.cli.explain import explain_item
    from pipeline.core.paths import DatasetFolders

    run_command(lambda: print("\n".join(explain_item(question_id, DatasetFolders()))))


@app.command(epilog="Example: `rgqa report --examples-per-subset 6`")
def report(
    context: typer.Context,
    out: Annotated[
        Path | None,
        Option(help="The page; `data/NAME/report.html` if not given."),
    ] = None,
    examples_per_subset: Annotated[
        int, Option(help="Items of each subset shown with their images, 0 to 25.", min=0, max=25)
    ] = 12,
    attribution: Annotated[
        str | None,
        Option(metavar="ROW", help="24 items drawn by lot: what a row of the leaderboard looked at."),
    ] = None,
) -> None:
    """Write one HTML page on a run, or on what a row of the leaderboard looked at."""
    if attribution:
        refuse_options(context, "examples_per_subset", "--attribution shows 24 items")
        from pipeline.benchmark.report.attribution_page import write_attribution_report

        run_command(lambda: write_attribution_report(attribution, out=out))
        return
    from pipeline.benchmark.report.report_page import write_report

    run_command(lambda: write_report(out, examples_per_subset))


@app.command(epilog="Example: `rgqa export items --out items.xlsx`")
def export(
    source: Annotated[str, Argument(help="items, verdicts, dropped, or a JSONL file that a stage wrote.")],
    out: Annotated[Path, Option(help="FILE.csv, FILE.xlsx or FILE.parquet.")],
) -> None:
    """Write what a run made as a table for a notebook. Ids are text, so read CSV with dtype=str."""
    from pipeline.cli.export import export_table

    run_command(lambda: export_table(source, out))
