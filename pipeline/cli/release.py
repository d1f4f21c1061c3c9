"""Commands of `rgqa` that check, publish, compare and correct releases.

Heavy modules are imported inside the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import format_count, run_command

app = new_app()
ReleaseArgument = Annotated[
    Path, Argument(metavar="RELEASE", help="Folder of a release, `data/release/NAME/VERSION`.")
]
ItemIdArgument = Annotated[
    str,
    Argument(
        metavar="ITEM",
        help="Id of an item: `item_id` in the tables of a release, `question_id` in its files `rgqa/SUBSET.json`.",
    ),
]


@app.command(epilog="Example: `rgqa check data/release/sample/1.0.0`")
def check(release: ReleaseArgument) -> None:
    """Check that a release is complete and consistent."""
    from pipeline.benchmark.release.check_release import check_release

    run_command(lambda: print(f"check: {check_release(release)}"))


@app.command(epilog="Example: `rgqa publish data/release/sample/1.0.0 --destination published`")
def publish(
    context: typer.Context,
    release: ReleaseArgument,
    destination: Annotated[
        Path | None, Option(help="Copy the release into this folder (default: published/).")
    ] = None,
    hub: Annotated[
        str | None,
        Option(
            metavar="OWNER/NAME",
            help="Upload the release to this data set on the Hugging Face Hub instead. The environment variable HF_TOKEN holds your "
            "token, and HF_ENDPOINT may name another server.",
        ),
    ] = None,
    allow_simulated: Annotated[
        bool,
        Option(
            "--allow-simulated",
            help="Upload the release even if its verdicts are simulated or those of models.",
        ),
    ] = False,
    allow_trial: Annotated[
        bool,
        Option("--allow-trial", help="Publish the release even if the annotation study was only a trial."),
    ] = False,
) -> None:
    """Publish a release as a read-only copy in a folder, or on the Hugging Face Hub."""
    if hub:
        refuse_options(context, "destination", "--hub chooses the destination")
        from pipeline.benchmark.release.publish_hub import publish_to_hub

        run_command(lambda: print(f"publish: {publish_to_hub(release, hub, allow_simulated, allow_trial)}"))
        return
    refuse_options(context, "allow_simulated", "only --hub refuses simulated verdicts")
    from pipeline.benchmark.release.check_release import publish_release

    place = destination or Path("published")
    run_command(lambda: print(f"publish: {publish_release(release, place, allow_trial)}"))


@app.command(epilog="Example: `rgqa diff data/release/sample/1.0.0 data/release/sample/1.1.0 --list-items`")
def diff(
    old: ReleaseArgument,
    new: Annotated[Path, Argument(metavar="NEW", help="Folder of another version of the same release.")],
    list_items: Annotated[
        bool, Option("--list-items", help="List the changed items, not only how many there are.")
    ] = False,
) -> None:
    """Show what changed between two versions of a release."""
    from pipeline.benchmark.release.release_diff import compare_releases

    run_command(lambda: print("\n".join(compare_releases(old, new, list_items))))


@app.command(
    "export-results",
    epilog='Example: `rgqa export-results runs/llava --organization "Example Lab" --hub-name example/rgqa-sample --out results`',
)
def export_results(
    runs: Annotated[
        list[Path], Argument(metavar="RUN", help="Folders that `rgqa run` wrote. The runs must be finished.")
    ],
    organization: Annotated[
        str, Option(metavar="NAME", help="State who ran the evaluation, for example your laboratory.")
    ],
    out: Annotated[Path, Option(metavar="FOLDER", help="Write the files into this folder.")],
    relationship: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        Option(help="State how the organization is related to the developer of the model."),
    ] = "third_party",
    hub_name: Annotated[
        str,
        Option(
            metavar="OWNER/NAME",
            help="The release is this data set on the Hugging Face Hub. Also write the results for the model's folder `.eval_results/` there.",
        ),
    ] = "",
    hub_revision: Annotated[
        str, Option(metavar="COMMIT", help="State this revision of the data set on the hub.")
    ] = "",
    release: Annotated[
        Path | None,
        Option(metavar="FOLDER", help="Use this release instead of the one that each run states."),
    ] = None,
) -> None:
    """Write results of runs in the forms of Every Eval Ever and of the Hugging Face Hub (docs/guides/publish_a_release.md)."""
    from pipeline.benchmark.report.result_exports import Publisher, export_results
    from pipeline.core.output_paths import Output, check_output_paths
    from pipeline.core.progress import report_written

    def run() -> None:
        check_output_paths([Output("--out", out, "folder")], [*runs, release])
        files = export_results(
            runs, out, Publisher(organization, relationship, hub_name, hub_revision), release
        )
        report_written("export-results", format_count(len(files), "file"), out)

    run_command(run)


errata = new_app(
    "Record errors in released items. The next release lists these items, and `rgqa score --exclude-errata` excludes them.",
    "rgqa errata add 00095300 'two dogs are meant'",
)
app.add_typer(errata, name="errata")


@errata.command(
    epilog="Example: `rgqa errata add 00095300 'the image shows two dogs, so the question is ambiguous'`"
)
def add(
    item: ItemIdArgument,
    reason: Annotated[str, Argument(help="What is wrong with the item, in one sentence.")],
) -> None:
    """Record an error in an item."""
    from pipeline.benchmark.release.errata import add_erratum
    from pipeline.core import params
    from pipeline.core.paths import DatasetFolders

    run_command(
        lambda: print(
            f"errata: {item} -> {add_erratum(DatasetFolders(), params.read_release_version(), item, reason)}"
        )
    )


@errata.command(epilog="Example: `rgqa errata collect`")
def collect() -> None:
    """Record the doubted labels that people found wrong.

    The data set in use is one that `rgqa doubt --annotate` made, and its verdicts were fetched with `rgqa annotate pull`. An item whose votes
    do not decide gets no erratum.
    """
    from pipeline.cli.doubt import collect_errata

    run_command(collect_errata)


@errata.command(epilog="Example: `rgqa errata remove 00095300`")
def remove(item: ItemIdArgument) -> None:
    """Remove the recorded error of an item, so that the next release does not list it."""
    from pipeline.benchmark.release.errata import remove_erratum
    from pipeline.core.paths import DatasetFolders

    run_command(lambda: print(f"errata: {item} is removed from {remove_erratum(DatasetFolders(), item)}"))
