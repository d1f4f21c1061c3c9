"""Define the command group `rgqa annotate`. Heavy modules are imported inside the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.model_options import (
    InputPriceOption,
    MaxConnectionsOption,
    MaxImageSizeOption,
    MaxTokensOption,
    OutputPriceOption,
    ServerOption,
    VisionModelOption,
)
from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command

app = new_app(
    "Run the human annotation study in Label Studio (docs/guides/human_annotation.md).", "rgqa annotate serve"
)


@app.command(epilog="Example: `rgqa annotate serve`")
def serve(
    context: typer.Context,
    port: Annotated[
        int, typer.Option(metavar="N", help="Serve on this port of 127.0.0.1.", min=1, max=65_535)
    ] = 8080,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the server. All answers are kept.")] = False,
) -> None:
    """Start this project's Label Studio server on this machine, upload the tasks, and print the link of each
    annotator.
    """
    if stop:
        refuse_options(context, "port", "--stop stops the server on any port")
    from annotation.server import serve

    run_command(lambda: serve.stop_server() if stop else serve.serve(port))


@app.command(
    epilog='Example: `rgqa annotate invite ann ben --contact "Lee, lee@example.org" --pay "12 EUR an hour"`'
)
def invite(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Names of the annotators.")
    ] = None,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="Remove these annotators from the study. Their verdicts are kept."),
    ] = False,
    open_link: Annotated[
        bool, typer.Option("--open-link", help="Create one link with which volunteers can sign up.")
    ] = False,
    adjudicator: Annotated[
        bool,
        typer.Option(
            "--adjudicator",
            help="Add these people as adjudicators, who decide candidates on which the annotators disagree.",
        ),
    ] = False,
    contact: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Set the contact person for annotators, with an e-mail address. Required the first time.",
        ),
    ] = "",
    pay: Annotated[str, typer.Option(metavar="TEXT", help="Set the pay that the consent page states.")] = "",
    ethics_approval: Annotated[
        str, typer.Option(metavar="TEXT", help="Set the ethics approval that the consent page states.")
    ] = "",
) -> None:
    """Add annotators to the study (or remove them with --remove), and print their personal links."""
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
    """Upload the tasks that Label Studio does not have yet, and update the task queue of `rgqa annotate
    serve`.
    """
    from annotation.client.push import push_tasks

    run_command(push_tasks)


@app.command(epilog="Example: `rgqa annotate status`")
def status() -> None:
    """Print the progress and the speed of each annotator, and the accuracy on gold questions (control
    questions whose correct choice is known).
    """
    from annotation.client.status import print_status

    run_command(print_status)


@app.command(epilog="Example: `rgqa annotate pull`")
def pull() -> None:
    """Fetch the verdicts from Label Studio.

    Verdicts that were fetched earlier are kept. The last line says which command uses them: `dvc repro` for a release, `rgqa errata
    collect` for doubted labels, or `rgqa annotate human-baseline score`.
    """
    from annotation.client.pull import pull_annotations

    run_command(pull_annotations)


@app.command(
    epilog="Example: `rgqa annotate panel --server http://127.0.0.1:8000 --model qwen3-vl --prompts 2`"
)
def panel(
    model: VisionModelOption,
    server: ServerOption = "",
    prompts: Annotated[
        int, typer.Option(min=1, max=4, help="Ask each task with this number of different prompts.")
    ] = 1,
    max_tasks: Annotated[
        int,
        typer.Option(min=0, max=1_000_000, help="Ask at most this number of tasks. 0 means all tasks."),
    ] = 0,
    max_image_size: MaxImageSizeOption = 1024,
    max_tokens: MaxTokensOption = 2048,
    max_connections: MaxConnectionsOption = 0,
    input_price: InputPriceOption = None,
    output_price: OutputPriceOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Continue after the cost forecast without asking.")
    ] = False,
) -> None:
    """Let a vision model judge the tasks with the guidelines of the annotators.

    Its verdicts are written to annotations/panel.jsonl, apart from those of people. If the command stops, the same command resumes it.
    Requests that were answered are not sent again.
    """
    from annotation.panel.panel import PanelOptions, run_panel
    from pipeline.core.errors import UserError
    from pipeline.inference.argument_parser import normalize_server_url
    from pipeline.inference.cost_forecast import Prices

    def run() -> None:
        url, faults = normalize_server_url(server)
        if faults:
            raise UserError(faults)
        prices = Prices(input_price, output_price)
        run_panel(
            PanelOptions(
                model, url, prompts, max_tasks, max_image_size, max_tokens, max_connections, prices, yes
            )
        )

    run_command(run)


@app.command("end-round", epilog="Example: `rgqa annotate end-round`")
def end_round() -> None:
    """End an annotation round: candidates on which the annotators agreed become gold questions of the next
    round.

    Then run `dvc repro batch`.
    """
    from annotation.study.rounds import end_and_print_round

    run_command(end_and_print_round)


@app.command(epilog="Example: `rgqa annotate erase ann`")
def erase(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name in the roster, or pseudonym of an imported annotator."),
    ],
) -> None:
    """Delete all data of one annotator on this machine and on the server, and verify that nothing is left."""
    from annotation.client.erase import erase_annotator

    run_command(lambda: erase_annotator(name))


@app.command(epilog="Example: `rgqa annotate demo`")
def demo() -> None:
    """Try the annotation page: 20 training tasks with feedback, then a few real tasks.

    Everything is deleted at the end.
    """
    from annotation.server.demo import run_demo

    run_command(run_demo)


@app.command("import", epilog="Example: `rgqa annotate import export.json`")
def import_(
    exports: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Label Studio exports in JSON format.")
    ],
) -> None:
    """Import verdicts from Label Studio exports and replace the names of annotators by pseudonyms.

    The last line says which command uses them, as that of `rgqa annotate pull`.
    """
    from annotation.study.import_annotations import import_exports

    run_command(lambda: import_exports(exports))


@app.command(epilog="Example: `rgqa annotate forecast --hourly-pay 15`")
def forecast(
    hourly_pay: Annotated[
        float | None,
        typer.Option(
            metavar="PRICE", min=0, max=1e6, help="Estimate the cost with this pay per hour, in any currency."
        ),
    ] = None,
    annotators: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=10_000,
            help="Assume this number of annotators (default: those in the roster).",
        ),
    ] = None,
) -> None:
    """Forecast how many verdicts, how many hours and how much money the study still needs."""
    from annotation.client.collected_answers import print_forecast

    run_command(lambda: print_forecast(hourly_pay, annotators))


@app.command(epilog="Example: `rgqa annotate report`")
def report() -> None:
    """Print a summary of the quality report, and the path of the report."""
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
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Sample from this release (default: the version in params.yaml)."
        ),
    ] = None,
    items_per_label: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            max=1_000_000,
            help="Sample this number of answerable and of unanswerable questions per subset.",
        ),
    ] = 50,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Set the seed of the sample.", min=0, max=2**32 - 1)
    ] = 0,
) -> None:
    """Sample answerable and unanswerable questions of a release as the tasks of a new data set, NAME-human."""
    from annotation.study.human_baseline import sample_items

    run_command(lambda: sample_items(release, items_per_label, seed))


@human_baseline.command(epilog="Example: `rgqa annotate human-baseline score`")
def score() -> None:
    """Write the answers of the annotators for `rgqa score --resource human-judgments=FILE`, and print how
    many questions they accept.
    """
    from annotation.study.human_baseline import score_judgements

    run_command(score_judgements)
