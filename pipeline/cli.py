"""`rgqa`: the command-line door. Every command is a thin layer over one function; heavy imports happen inside."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from annotation.annotate_cli import app as annotate
from pipeline.core.errors import run
from pipeline.core.records import Split
from sample_world.sample_cli import app as sample
from studies.study_cli import app as study

Net = Literal["match", "butd"]
Device = Literal["auto", "cpu", "cuda"]
app = typer.Typer(
    help="Build test sets of unanswerable questions about images. The pipeline itself runs with `dvc repro`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(annotate, name="annotate")
app.add_typer(sample, name="sample")
app.add_typer(study, name="study")


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


@app.command(
    epilog="Example: rgqa explain 00095300 (of the sample; ids of items are in a release's rgqa/<subset>.json)"
)
def explain(
    question_id: Annotated[str, Argument(help="Id of an item, a candidate or a source question.")],
) -> None:
    """Print the whole story of an item."""
    from pipeline.commands.explain import explain
    from pipeline.core.paths import Folders

    run(lambda: print("\n".join(explain(question_id, Folders()))))


@app.command(epilog="Example: rgqa check data/release/sample/1.0.0")
def check(release: Annotated[Path, Argument(help="A release's folder.")]) -> None:
    """Check that a release is whole."""
    from pipeline.releasing.check_release import check_release

    run(lambda: print(f"check: {check_release(release)}"))


@app.command(epilog="Example: rgqa audit data/release/sample/1.0.0 --json audit.json")
def audit(
    benchmark: Annotated[Path, Argument(help="A release's folder, or a subset's JSON in RGQA's format.")],
    folds: Annotated[int, Option(min=2, help="Folds of the cross-validation.")] = 5,
    repetitions: Annotated[int, Option(min=50, help="Bootstrap samples of each interval.")] = 500,
    seed: Annotated[int, Option(min=0, help="Of folds and samples.")] = 0,
    json: Annotated[Path | None, Option(help="Write the figures there.")] = None,
) -> None:
    """Tell what models that see only the text can tell of a benchmark."""
    from pipeline.commands.audit_release import audit_release

    run(lambda: audit_release(benchmark, folds, repetitions, seed, json))


@app.command(epilog="Example: rgqa leaks coco_pope_popular.json --page leaks.html")
def leaks(
    source: Annotated[
        str,
        Argument(metavar="FILE", help="JSON, JSONL, CSV, TSV or Parquet, or a data set's name or folder."),
    ],
    annotations: Annotated[
        Path | None, Option(help="VQA's annotations, if FILE has the questions alone.")
    ] = None,
    config: Annotated[str | None, Option(help="Of a data set by name.")] = None,
    split: Annotated[str | None, Option(help="Of a data set by name.")] = None,
    text: Annotated[str | None, Option(help="Column of the text, if the form is not known.")] = None,
    label: Annotated[str | None, Option(help="Column of the label: two values.")] = None,
    positive: Annotated[str | None, Option(help="The label's value that counts against all others.")] = None,
    group: Annotated[str | None, Option(help="Column of the picture.")] = None,
    where: Annotated[
        str | None, Option(metavar="COLUMN=VALUE", help="Only rows with this value in this column.")
    ] = None,
    folds: Annotated[int, Option(min=2, help="Folds of the cross-validation.")] = 5,
    repetitions: Annotated[int, Option(min=50, help="Bootstrap samples of each interval.")] = 500,
    seed: Annotated[int, Option(min=0, help="Of folds and samples.")] = 0,
    balance: Annotated[
        Path | None, Option(help="Write the largest part whose margins are even there, in FILE's form.")
    ] = None,
    json: Annotated[Path | None, Option(help="Write the figures there.")] = None,
    page: Annotated[Path | None, Option(help="Write one page there, HTML.")] = None,
) -> None:
    """Tell what anybody's set gives away without its pictures (docs/leaks.md)."""
    from pipeline.commands.leaks import LeakOptions, leaks
    from pipeline.leaks.leak_figures import LeakParams
    from pipeline.leaks.read_set import Columns

    column, equals, value = (where or "").partition("=")
    if where and not equals:
        raise typer.BadParameter("wanted COLUMN=VALUE", param_hint="--where")
    columns = Columns(text, label, group, positive, (column, value) if where else None)
    params = LeakParams(folds, repetitions, seed)
    options = LeakOptions(source, annotations, config, split, columns, params, balance, json, page)
    run(lambda: leaks(options))


@app.command(epilog="Example: rgqa publish data/release/sample/1.0.0 --to published")
def publish(
    release: Annotated[Path, Argument(help="A release's folder, data/release/<data set>/<version>.")],
    to: Annotated[Path, Option(help="Where published versions stay.")] = Path("published"),
    hub: Annotated[
        str | None,
        Option(
            metavar="OWNER/NAME", help="A data set on the Hugging Face hub instead (HF_ENDPOINT, HF_TOKEN)."
        ),
    ] = None,
    as_demo: Annotated[
        bool, Option("--as-demo", help="On the hub also what is simulated, or a rehearsal.")
    ] = False,
) -> None:
    """Copy a release to an immutable version, or put it on the hub."""
    if hub:
        from pipeline.releasing.publish_hub import publish_on_hub

        run(lambda: print(f"publish: {publish_on_hub(release, hub, as_demo)}"))
        return
    from pipeline.releasing.check_release import publish

    run(lambda: print(f"publish: {publish(release, to)}"))


@app.command(epilog="Example: rgqa diff data/release/sample/1.0.0 data/release/sample/1.1.0 --full")
def diff(
    old: Annotated[Path, Argument(help="A release's folder.")],
    new: Annotated[Path, Argument(help="Another version's.")],
    full: Annotated[bool, Option("--full", help="List the items, not only how many.")] = False,
) -> None:
    """Tell what changed between two versions of a release."""
    from pipeline.releasing.release_diff import release_diff

    run(lambda: print("\n".join(release_diff(old, new, full))))


@app.command(epilog="Example: rgqa init birds")
def init(
    name: Annotated[str, Argument(help="Name of the new data set: lower-case letters, digits and dashes.")],
) -> None:
    """Make room for a data set of your own."""
    from pipeline.commands.new_data import init

    run(lambda: print(f"init: {init(name)}"))


@app.command(epilog="Example: rgqa vectors")
def vectors() -> None:
    """Write the vectors of `embed` and `similarity` to data/<data set>/vectors/clip.safetensors, so that others need not."""
    from pipeline.encoders.embedding import export_vectors

    run(lambda: print(f"vectors: -> {export_vectors()}"))


@app.command(epilog="Example: rgqa plausibility --model models/gpt2")
def plausibility(
    model: Annotated[
        str, Option(help="Folder of a causal model in transformers' form, or a name at the server.")
    ],
    server: Annotated[
        str | None, Option(help="Address with OpenAI's interface; its key is in OPENAI_API_KEY.")
    ] = None,
    chat: Annotated[
        bool, Option("--chat", help="Ask the server for a digit, where it does not echo log probabilities.")
    ] = False,
    jobs: Annotated[int, Option(min=1, max=64, help="Requests to the server at the same time.")] = 8,
) -> None:
    """Let a language model score the texts that `perturb` chooses from, if `perturb: alternatives` is above 1."""
    from pipeline.commands.plausibility import score_texts

    run(lambda: score_texts(model, server, chat, jobs))


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog="Example: rgqa score data/release/sample/1.0.0 model.json --plots plots",
)
def score(context: typer.Context) -> None:
    """Score predictions (docs/scores.md defines every score); `rgqa score --help` shows the options."""
    from pipeline.commands.score import main

    run(lambda: main(context.args))


@app.command(
    "run",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog="Example: rgqa run data/release/sample/1.0.0 --server http://127.0.0.1:8000 --model llava",
)
def run_model(context: typer.Context) -> None:
    """Ask a model the questions of a release and score its answers (docs/running.md); `rgqa run --help` shows the options."""
    from pipeline.commands.run import main

    run(lambda: main(context.args))


@app.command(epilog="Example: rgqa leaderboard runs/rp-word-p-true runs/blind-word-p-true --out board")
def leaderboard(
    results: Annotated[list[Path], Argument(help="Folders of `rgqa run`, or predictions files.")],
    release: Annotated[
        Path | None, Option(help="The release that predictions files are of; runs name theirs.")
    ] = None,
    out: Annotated[
        Path | None, Option(help="Folder for leaderboard.md, .html and .csv; printed alone if not given.")
    ] = None,
    by: Annotated[
        Literal["auaf", "ff95", "facc", "auroc"],
        Option(help="The score that models are ordered and compared by."),
    ] = "auaf",
    bootstrap: Annotated[int, Option(min=100, help="Draws of pictures for intervals.")] = 1000,
    seed: Annotated[int, Option(min=0, help="Of the draws.")] = 0,
) -> None:
    """Show several models in one table, with intervals and letters: those that share one are not told apart."""
    from pipeline.commands.compare_runs import compare_runs

    run(lambda: compare_runs(results, release, out, by, bootstrap, seed))


@app.command(epilog="Example: rgqa report --gallery 6")
def report(
    out: Annotated[
        Path | None,
        Option(help="The page; data/<data set>/report.html or compare.html, or releases.html, if not given."),
    ] = None,
    gallery: Annotated[int, Option(help="Items of each subset shown with their pictures, 0 to 25.")] = 12,
    compare: Annotated[
        tuple[str, str] | None,
        Option(metavar="ROW ROW", help="Two rows of the leaderboard: item by item what they said."),
    ] = None,
    releases: Annotated[
        tuple[Path, Path] | None,
        Option(metavar="FOLDER FOLDER", help="Two versions of a release, or two data sets': side by side."),
    ] = None,
) -> None:
    """Write one HTML page that shows a whole run, what two rows of the leaderboard said, or two releases."""
    if releases:
        from pipeline.reporting.release_pair import release_pair

        run(lambda: release_pair(releases, out or Path("releases.html")))
        return
    if compare:
        from pipeline.reporting.row_pair import compare as beside

        run(lambda: beside(compare, out, gallery))
        return
    from pipeline.reporting.report_page import report

    run(lambda: report(out, gallery))


@app.command(epilog="Example: rgqa table items --out items.xlsx")
def table(
    source: Annotated[str, Argument(help="items, verdicts, dropped, or a JSONL file that a stage wrote.")],
    out: Annotated[Path, Option(help="FILE.csv, FILE.xlsx or FILE.parquet.")],
) -> None:
    """Write what a run made as a table for a notebook; ids are text, so read CSV with dtype=str."""
    from pipeline.commands.table import write_table

    run(lambda: write_table(source, out))


@app.command(
    epilog="Example: rgqa baselines --data-set gqa --features data/gqa/features --row msp --row rp --seed 0"
)
def baselines(
    features: Annotated[
        Path, Option(help="Folder of region features: GQA's HDF5, arrays, or a .npz for each picture.")
    ],
    data_set: Annotated[str | None, Option(help="As params.yaml says if not given.")] = None,
    train: Annotated[
        Path | None,
        Option(help="Questions in GQA's form, a file or a folder of them; of the source if not given."),
    ] = None,
    val: Annotated[Path | None, Option(help="Likewise; checkpoints are chosen on them.")] = None,
    release: Annotated[
        Path | None,
        Option(help="What to answer: a release's folder, or a subset's JSON; this version's if not given."),
    ] = None,
    row: Annotated[
        list[str] | None,
        Option(help="A row of the papers, as often as wanted; all that can be made if not given."),
    ] = None,
    seed: Annotated[list[int] | None, Option(min=0, help="As often as wanted; 0 if not given.")] = None,
    epochs: Annotated[float, Option(min=0, help="Of the net that most others start from.")] = 5.0,
    more_epochs: Annotated[float, Option(min=0, help="Of each net after it.")] = 2.0,
    answers: Annotated[int, Option(min=2, help="The most frequent answers of train that nets know.")] = 1842,
    check: Annotated[int, Option(min=2, help="Questions of val on which a checkpoint is tried.")] = 10_000,
    net: Annotated[Net, Option(help="match, or butd: attention without matches.")] = "match",
    device: Annotated[Device, Option(help="auto takes a GPU if there is one.")] = "auto",
    work: Annotated[
        Path | None, Option(help="Nets and checkpoints; data/cache/baselines-<data set> if not given.")
    ] = None,
    out: Annotated[Path | None, Option(help="data/<data set>/predictions if not given.")] = None,
) -> None:
    """Train the papers' baselines on precomputed region features and answer a release; goes on where it stopped."""
    from pipeline.baselines.baseline_nets import Plan
    from pipeline.baselines.baseline_rows import Wanted, baselines

    plan = Plan(answers, epochs, more_epochs, check, match=net == "match")
    rows, seeds = row or (), seed or (0,)
    wanted = Wanted(features, train, val, data_set, release, rows, seeds, plan, device, work, out)
    run(lambda: baselines(wanted))


@app.command(epilog="Example: rgqa fetch gqa --split testdev --dry-run")
def fetch(
    what: Annotated[str, Argument(help="What to fetch: gqa.")],
    split: Annotated[
        Split | None,
        Option(help="Whose pictures: testdev, val or train; as params.yaml says if not given."),
    ] = None,
    origin: Annotated[
        str, Option("--from", help="official, hub, or a copy of the archives: web address or folder.")
    ] = "official",
    archives: Annotated[str | None, Option(help="Address of the archives, if not the authors'.")] = None,
    into: Annotated[str, Option(help="Name of the data set that is fetched for.")] = "gqa",
    jobs: Annotated[int, Option(min=1, max=32, help="Requests at the same time.")] = 8,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say what would be fetched, and how much.")
    ] = False,
    whole: Annotated[
        bool, Option("--whole", help="Fetch archives whole, from servers that ignore byte ranges.")
    ] = False,
    cache: Annotated[Path | None, Option(help="Folder that keeps all that is received.")] = None,
    offline: Annotated[bool, Option("--offline", help="Take all from the cache, ask no server.")] = False,
    choices: Annotated[bool, Option("--choices", help="The choices of GQA's evaluation, too.")] = False,
    accept_changed: Annotated[
        bool, Option("--accept-changed", help="Take what changed since it was first seen.")
    ] = False,
) -> None:
    """Fetch GQA, of it only what a data set needs (docs/gqa.md)."""
    from pipeline.sources.fetching.fetch import FetchOptions, fetch

    options = FetchOptions(
        data_set=into,
        split=split,
        origin=origin,
        archives=archives,
        jobs=jobs,
        dry_run=dry_run,
        all_of_it=whole,
        cache=cache,
        offline=offline,
        choices=choices,
        accept_changed=accept_changed,
    )
    run(lambda: fetch(what, options))


errata = typer.Typer(
    help="Faults of released items: noted here, told by the next release, left out by `rgqa score --without-errata`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Example: rgqa errata add 00095300 'two dogs are meant'",
)
app.add_typer(errata, name="errata")


@errata.command(epilog="Example: rgqa errata add 00095300 'two dogs are meant'")
def add(
    item: Annotated[str, Argument(help="Id of an item, as question_id in a release's rgqa/<subset>.json.")],
    reason: Annotated[str, Argument(help="What is wrong with it, in a sentence.")],
) -> None:
    """Note that an item is faulty."""
    from pipeline.core import params
    from pipeline.core.paths import Folders
    from pipeline.releasing.errata import add_erratum

    run(lambda: print(f"errata: {item} -> {add_erratum(Folders(), params.version(), item, reason)}"))


convert = typer.Typer(
    help="Write other sources in the form that the pipeline reads.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Example: rgqa convert vqa questions.json annotations.json --into vqa",
)
app.add_typer(convert, name="convert")


@convert.command(
    epilog="Example: rgqa convert vqa v2_OpenEnded_mscoco_val2014_questions.json v2_mscoco_val2014_annotations.json --into vqa"
)
def vqa(
    questions: Annotated[Path, Argument(help="File of questions, in the form of VQA v2.")],
    annotations: Annotated[Path, Argument(help="File of annotations, in the form of VQA v2.")],
    into: Annotated[str, Option(help="Name of the data set.")],
    split: Annotated[Split, Option(help="testdev, train, val or test.")] = "val",
    prefix: Annotated[
        str | None, Option(help="Of the pictures' names; COCO_<subtype>_ if not given.")
    ] = None,
    digits: Annotated[int, Option(min=1, max=20, help="Of the pictures' numbers.")] = 12,
) -> None:
    """Questions with ten answers each, in the form of VQA v2."""
    from pipeline.sources.vqa_files import convert

    run(lambda: print(f"convert: {convert(questions, annotations, into, split, prefix, digits)}"))


@convert.command(
    epilog="Example: rgqa convert visual-genome scene_graphs.json image_data.json --into vqa --split train"
)
def visual_genome(
    graphs: Annotated[Path, Argument(help="Visual Genome's scene_graphs.json.")],
    pictures: Annotated[Path, Argument(help="Visual Genome's image_data.json.")],
    into: Annotated[str, Option(help="Name of the data set.")],
    split: Annotated[Split, Option(help="testdev, train, val or test.")] = "train",
    attributes: Annotated[Path | None, Option(help="Visual Genome's attributes.json.")] = None,
) -> None:
    """Visual Genome's own scene graphs."""
    from pipeline.sources.visual_genome import convert

    run(lambda: print(f"convert: {convert(graphs, pictures, into, split, attributes)}"))


def main() -> None:
    """Entry point of the `rgqa` command."""
    try:
        app()
    except ModuleNotFoundError as error:
        ours = ("pipeline", "annotation", "simulation", "sample_world", "studies")
        if str(error.name).split(".")[0] in ours:
            raise
        sys.exit(
            f"error: {error.name} is not installed: this command belongs to building a benchmark, not to scoring one; "
            'install the whole from a clone with `pip install ".[build]"`'
        )


if __name__ == "__main__":
    main()
