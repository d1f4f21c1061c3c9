"""`rgqa annotate`: thin commands over the people's half of the pipeline; heavy imports happen inside."""

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
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.", min=1, max=65_535)] = 8080,
    stop: Annotated[bool, typer.Option("--stop", help="Stop it; all that people did is kept.")] = False,
) -> None:
    """Start a Label Studio of our own, push the tasks, print everybody's link."""
    if stop:
        refuse_options(context, "port", "--stop stops the server, whatever its port")
    from annotation.server import serve

    run_command(lambda: serve.stop_server() if stop else serve.serve(port))


@app.command(
    epilog='Example: `rgqa annotate invite ann ben --contact "Lee, lee@example.org" --pay "12 EUR an hour"`'
)
def invite(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="Names of annotators.")] = None,
    leave: Annotated[bool, typer.Option("--remove", help="They are asked no more.")] = False,
    link: Annotated[bool, typer.Option("--open-link", help="One address for volunteers.")] = False,
    expert: Annotated[bool, typer.Option("--adjudicator", help="They decide what stays doubtful.")] = False,
    contact: Annotated[str, typer.Option(help="Whom they can ask, with an address; needed once.")] = "",
    pay: Annotated[str, typer.Option(help="What they get, as the consent page says it.")] = "",
    ethics_approval: Annotated[
        str, typer.Option(help="The ethics approval, as the consent page says it.")
    ] = "",
) -> None:
    """Let people join or leave, each with a link of their own."""
    if leave:
        refuse_options(context, "link expert contact pay ethics_approval", "--remove only takes people out")
    from annotation.client.consent import save_terms
    from annotation.server.accounts import update_roster
    from pipeline.core.paths import DatasetFolders

    def joined() -> None:
        if not leave:
            save_terms(DatasetFolders(), contact, pay, ethics_approval)
        update_roster(names or [], leave, link, expert)

    run_command(joined)


@app.command(epilog="Example: `rgqa annotate push`")
def push() -> None:
    """Put missing tasks into the project, and tell the server who is asked what."""
    from annotation.client.push import push_tasks

    run_command(push_tasks)


@app.command(epilog="Example: `rgqa annotate status`")
def status() -> None:
    """Print what is done and open, the pace, and the filter questions so far."""
    from annotation.client.status import print_status

    run_command(print_status)


@app.command(epilog="Example: `rgqa annotate pull`")
def pull() -> None:
    """Fetch the verdicts; earlier ones are never lost. Then: dvc repro."""
    from annotation.client.pull import pull_annotations

    run_command(pull_annotations)


@app.command("end-round", epilog="Example: `rgqa annotate end-round`")
def end_round() -> None:
    """End a round: what is verified becomes filter questions of the next. Then: dvc repro batch."""
    from annotation.study.rounds import end_and_print_round

    run_command(end_and_print_round)


@app.command(epilog="Example: `rgqa annotate erase ann`")
def erase(
    name: Annotated[str, typer.Argument(help="The roster's; of who was imported, the pseudonym.")],
) -> None:
    """Delete all that there is of somebody, here and on the server, and prove it."""
    from annotation.client.erase import erase_annotator

    run_command(lambda: erase_annotator(name))


@app.command(epilog="Example: `rgqa annotate demo`")
def demo() -> None:
    """Try it: 20 tasks with feedback in the browser, in a folder that is deleted at the end."""
    from annotation.server.demo import run_demo

    run_command(run_demo)


@app.command("import", epilog="Example: `rgqa annotate import export.json`")
def import_(
    exports: Annotated[list[Path], typer.Argument(help="Exports of any Label Studio, format JSON.")],
) -> None:
    """Take verdicts from exports in, checked and under pseudonyms. Then: dvc repro."""
    from annotation.study.import_annotations import import_exports

    run_command(lambda: import_exports(exports))


@app.command(epilog="Example: `rgqa annotate forecast --hourly-pay 15`")
def forecast(
    hourly_pay: Annotated[
        float | None, typer.Option(min=0, max=1e6, help="Pay per hour, in any currency.")
    ] = None,
    annotators: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="How many (default: who is on the roster).")
    ] = None,
) -> None:
    """Print how many judgements, hours and how much pay the study still takes."""
    from annotation.client.collected_answers import print_forecast

    run_command(lambda: print_forecast(hourly_pay, annotators))


@app.command(epilog="Example: `rgqa annotate report`")
def report() -> None:
    """Print how far the verdicts can be relied on, and where the quality report is."""
    from annotation.client.report import print_report

    run_command(print_report)


human_baseline = new_app(
    "Measure how well people themselves reject unanswerable questions.",
    "rgqa annotate human-baseline sample --items-per-label 50",
)
app.add_typer(human_baseline, name="human-baseline")


@human_baseline.command(epilog="Example: `rgqa annotate human-baseline sample --items-per-label 50 --seed 1`")
def sample(
    release: Annotated[
        Path | None, typer.Option(help="A release's folder; by default the version in params.yaml.")
    ] = None,
    each: Annotated[int, typer.Option(min=1, max=1_000_000, help="AQs, and UQs, of each subset.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0, max=2**32 - 1)] = 0,
) -> None:
    """Draw AQs and UQs of a release as the tasks of a data set of their own, NAME-people."""
    from annotation.study.human_baseline import sample_items

    run_command(lambda: sample_items(release, each, seed))


@human_baseline.command(epilog="Example: `rgqa annotate human-baseline score`")
def score() -> None:
    """Write what people said for `rgqa score --resource human=FILE`, and print their rates."""
    from annotation.study.human_baseline import score_judgements

    run_command(score_judgements)
