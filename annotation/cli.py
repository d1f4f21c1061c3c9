"""Define the command group `rgqa annotate`. Heavy modules are imported inside the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command

app = new_app("Run the human annotation study in Label Studio.", "rgqa annotate serve")


@app.command(epilog="Example: `rgqa annotate serve`")
def serve(
    context: typer.Context,
    port: Annotated[int, typer.Option(help="Serve on this port of 127.0.0.1.", min=1, max=65_535)] = 8080,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the server. All answers are kept.")] = False,
) -> None:
    """Start our own Label Studio, push the tasks, and print the link of each annotator."""
    if stop:
        refuse_options(context, "port", "--stop stops the server on any port")
    from annotation.server import serve

    run_command(lambda: serve.stop_server() if stop else serve.serve(port))


@app.command(
    epilog='Example: `rgqa annotate invite ann ben --contact "Lee, lee@example.org" --pay "12 EUR an hour"`'
)
def invite(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="Names of the annotators.")] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove these people. Their verdicts are kept.")
    ] = False,
    open_link: Annotated[
        bool, typer.Option("--open-link", help="Create one sign-up link for volunteers.")
    ] = False,
    adjudicator: Annotated[
        bool,
        typer.Option(
            "--adjudicator", help="Add these people as adjudicators, who decide doubtful candidates."
        ),
    ] = False,
    contact: Annotated[
        str, typer.Option(help="Set the contact for annotators, with an address. Required once.")
    ] = "",
    pay: Annotated[str, typer.Option(help="Set the pay that the consent page states.")] = "",
    ethics_approval: Annotated[
        str, typer.Option(help="Set the ethics approval that the consent page states.")
    ] = "",
) -> None:
    """Add annotators to the study or remove them, and print their personal links."""
    if remove:
        refuse_options(
            context, "open_link adjudicator contact pay ethics_approval", "--remove only removes people"
        )
    from annotation.client.consent import save_terms
    from annotation.server.accounts import update_roster
    from pipeline.core.paths import DatasetFolders

    def run() -> None:
        if not remove:
            save_terms(DatasetFolders(), contact, pay, ethics_approval)
        update_roster(names or [], remove, open_link, adjudicator)

    run_command(run)


@app.command(epilog="Example: `rgqa annotate push`")
def push() -> None:
    """Upload missing tasks to Label Studio, and update the task queue of our own server."""
    from annotation.client.push import push_tasks

    run_command(push_tasks)


@app.command(epilog="Example: `rgqa annotate status`")
def status() -> None:
    """Print the progress, the speed and the accuracy on gold questions of each annotator."""
    from annotation.client.status import print_status

    run_command(print_status)


@app.command(epilog="Example: `rgqa annotate pull`")
def pull() -> None:
    """Fetch the verdicts from Label Studio. Earlier verdicts are kept. Next: dvc repro."""
    from annotation.client.pull import pull_annotations

    run_command(pull_annotations)


@app.command("end-round", epilog="Example: `rgqa annotate end-round`")
def end_round() -> None:
    """End a round: verified candidates become gold questions of the next round. Next: dvc repro batch."""
    from annotation.study.rounds import end_and_print_round

    run_command(end_and_print_round)


@app.command(epilog="Example: `rgqa annotate erase ann`")
def erase(
    name: Annotated[str, typer.Argument(help="Name in the roster, or pseudonym of an imported annotator.")],
) -> None:
    """Delete all data of one annotator, here and on the server, and verify that nothing is left."""
    from annotation.client.erase import erase_annotator

    run_command(lambda: erase_annotator(name))


@app.command(epilog="Example: `rgqa annotate demo`")
def demo() -> None:
    """Try the annotation page: 20 tasks with feedback, in a temporary folder."""
    from annotation.server.demo import run_demo

    run_command(run_demo)


@app.command("import", epilog="Example: `rgqa annotate import export.json`")
def import_(
    exports: Annotated[list[Path], typer.Argument(help="Label Studio exports in the format JSON.")],
) -> None:
    """Import verdicts from Label Studio exports, under pseudonyms. Next: dvc repro."""
    from annotation.study.import_annotations import import_exports

    run_command(lambda: import_exports(exports))


@app.command(epilog="Example: `rgqa annotate forecast --hourly-pay 15`")
def forecast(
    hourly_pay: Annotated[
        float | None,
        typer.Option(min=0, max=1e6, help="Estimate the cost with this pay per hour, in any currency."),
    ] = None,
    annotators: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Assume this number of annotators (default: the roster)."),
    ] = None,
) -> None:
    """Forecast the judgements, hours and cost that the study still takes."""
    from annotation.client.collected_answers import print_forecast

    run_command(lambda: print_forecast(hourly_pay, annotators))


@app.command(epilog="Example: `rgqa annotate report`")
def report() -> None:
    """Print a summary of the quality report and its path."""
    from annotation.client.report import print_report

    run_command(print_report)


human_baseline = new_app(
    "Measure how well people reject unanswerable questions.",
    "rgqa annotate human-baseline sample --items-per-label 50",
)
app.add_typer(human_baseline, name="human-baseline")


@human_baseline.command(epilog="Example: `rgqa annotate human-baseline sample --items-per-label 50 --seed 1`")
def sample(
    release: Annotated[
        Path | None, typer.Option(help="Use this release folder (default: the version in params.yaml).")
    ] = None,
    items_per_label: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Sample this number of AQs and of UQs per subset.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the sample.", min=0, max=2**32 - 1)] = 0,
) -> None:
    """Sample AQs and UQs of a release as the tasks of a new data set, NAME-human."""
    from annotation.study.human_baseline import sample_items

    run_command(lambda: sample_items(release, items_per_label, seed))


@human_baseline.command(epilog="Example: `rgqa annotate human-baseline score`")
def score() -> None:
    """Write the judgements for `rgqa score --resource human-judgments=FILE`, and print the rates."""
    from annotation.study.human_baseline import score_judgements

    run_command(score_judgements)
