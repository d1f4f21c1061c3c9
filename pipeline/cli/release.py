"""Commands of `rgqa` around a release: whole, published, compared, corrected; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command

app = new_app()
ReleaseArgument = Annotated[Path, Argument(help="A release's folder, `data/release/NAME/VERSION`.")]
ItemIdArgument = Annotated[
    str,
    Argument(help="Id of an item: `item_id` in a release's tables, question_id in its `rgqa/SUBSET.json`."),
]


@app.command(epilog="Example: `rgqa check data/release/sample/1.0.0`")
def check(release: ReleaseArgument) -> None:
    """Check that a release is whole."""
    from pipeline.benchmark.release.check_release import check_release

    run_command(lambda: print(f"check: {check_release(release)}"))


@app.command(epilog="Example: `rgqa publish data/release/sample/1.0.0 --destination published`")
def publish(
    context: typer.Context,
    release: ReleaseArgument,
    destination: Annotated[
        Path | None, Option(help="Where published versions stay; published/ if not given.")
    ] = None,
    hub: Annotated[
        str | None,
        Option(
            metavar="OWNER/NAME", help="A data set on the Hugging Face hub instead (HF_ENDPOINT, HF_TOKEN)."
        ),
    ] = None,
    as_demo: Annotated[
        bool, Option("--allow-simulated", help="On the hub also what is simulated, or a rehearsal.")
    ] = False,
) -> None:
    """Copy a release to an immutable version, or put it on the hub."""
    if hub:
        refuse_options(context, "destination", "--hub names the place")
        from pipeline.benchmark.release.publish_hub import publish_to_hub

        run_command(lambda: print(f"publish: {publish_to_hub(release, hub, as_demo)}"))
        return
    refuse_options(context, "as_demo", "without --hub, nothing is refused for being a demonstration")
    from pipeline.benchmark.release.check_release import publish_release

    run_command(lambda: print(f"publish: {publish_release(release, destination or Path('published'))}"))


@app.command(epilog="Example: `rgqa diff data/release/sample/1.0.0 data/release/sample/1.1.0 --list-items`")
def diff(
    old: ReleaseArgument,
    new: Annotated[Path, Argument(help="Another version's.")],
    full: Annotated[bool, Option("--list-items", help="List the items, not only how many.")] = False,
) -> None:
    """Tell what changed between two versions of a release."""
    from pipeline.benchmark.release.release_diff import compare_releases

    run_command(lambda: print("\n".join(compare_releases(old, new, full))))


errata = new_app(
    "Note faults of released items. The next release lists them, and `rgqa score --exclude-errata` leaves them out.",
    "rgqa errata add 00095300 'two dogs are meant'",
)
app.add_typer(errata, name="errata")


@errata.command(epilog="Example: `rgqa errata add 00095300 'two dogs are meant'`")
def add(
    item: ItemIdArgument,
    reason: Annotated[str, Argument(help="What is wrong with it, in a sentence.")],
) -> None:
    """Note that an item is faulty."""
    from pipeline.benchmark.release.errata import add_erratum
    from pipeline.core import params
    from pipeline.core.paths import DatasetFolders

    run_command(
        lambda: print(
            f"errata: {item} -> {add_erratum(DatasetFolders(), params.read_release_version(), item, reason)}"
        )
    )


@errata.command(epilog="Example: `rgqa errata remove 00095300`")
def remove(item: ItemIdArgument) -> None:
    """Take back what was noted of an item."""
    from pipeline.benchmark.release.errata import remove_erratum
    from pipeline.core.paths import DatasetFolders

    run_command(lambda: print(f"errata: {item} is gone from {remove_erratum(DatasetFolders(), item)}"))
