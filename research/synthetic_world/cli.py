"""`rgqa sample`: the embedded sample is made, checked and given its CLIP and its answer nets by code; heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.core.command_line import new_app
from pipeline.core.errors import run_command

app = new_app("Make and check the embedded sample.", "rgqa sample build --check")


@app.command(epilog="Example: `rgqa sample build --check`")
def build(
    check: Annotated[
        bool, typer.Option("--check", help="Compare what lies there with what the code makes; write nothing.")
    ] = False,
    all_truth: Annotated[
        bool,
        typer.Option(
            "--all-truth", help="The truth of train and val, too (not committed: it follows from the seed)."
        ),
    ] = False,
) -> None:
    """Write data/sample/source and data/sample/truth, or check them."""
    from research.synthetic_world.build import build_sample, check_sample

    run_command(lambda: check_sample(all_truth) if check else build_sample(all_truth))


@app.command(epilog="Example: `rgqa sample verify`")
def verify() -> None:
    """Check every answer by an executor that shares no code with the generator of the questions."""
    from research.synthetic_world.verify import verify_sample

    run_command(verify_sample)


@app.command(epilog="Example: `rgqa sample train-clip --resume-from data/sample/clip --small-image-steps 0`")
def train_clip(
    image_chunks: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Drawn train images, in units of 256.")
    ] = 200,
    text_steps: Annotated[int, typer.Option(min=0, max=1_000_000, help="Steps of texts alone.")] = 3000,
    small_image_steps: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Steps of small images with their things and texts.")
    ] = 6000,
    image_steps: Annotated[int, typer.Option(min=0, max=1_000_000, help="Steps of full-sized ones.")] = 5000,
    resume_from: Annotated[
        Path | None, typer.Option(help="A folder with the weights of an earlier run, to go on from.")
    ] = None,
    num_threads: Annotated[int, typer.Option(min=1, max=1024, help="Processors used.")] = 2,
) -> None:
    """Train the sample's own small CLIP on drawn train images and their texts; writes data/sample/clip."""
    from research.synthetic_world.train_clip import train_sample_clip

    run_command(
        lambda: train_sample_clip(
            image_chunks, (text_steps, small_image_steps, image_steps), resume_from, num_threads
        )
    )


@app.command(epilog="Example: `rgqa sample clip-card`")
def clip_card() -> None:
    """After make repro: measure the sample's CLIP on images that it never saw, and write its model card."""
    from research.synthetic_world.clip_model_card import write_card

    run_command(write_card)


@app.command(epilog="Example: `rgqa sample train-vqa --seed 1 --num-workers 2`")
def train_vqa(
    seed: Annotated[
        int,
        typer.Option(min=0, max=2**32 - 1, help="Of the nets; drawn worlds and detector serve all seeds."),
    ] = 0,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Only this net, and what it starts from; may be repeated."),
    ] = None,
    num_workers: Annotated[
        int, typer.Option(min=1, max=1024, help="Nets trained at a time, each by one processor.")
    ] = 2,
) -> None:
    """Train the sample's region detector and answer nets on drawn worlds; writes data/sample/vqa."""
    from research.synthetic_world.train_vqa import train_sample_vqa

    run_command(lambda: train_sample_vqa(seed, model or (), num_workers))


@app.command(epilog="Example: `rgqa sample fit-vqa --num-workers 2`")
def fit_vqa(
    num_workers: Annotated[
        int, typer.Option(min=1, max=1024, help="Seeds fitted at a time, each by one processor.")
    ] = 2,
) -> None:
    """Fit, for all seeds of the answer nets, what detectors need, and choose thresholds; writes data/sample/vqa."""
    from research.synthetic_world.fit_vqa import fit_sample_vqa

    run_command(lambda: fit_sample_vqa(num_workers))


@app.command(epilog="Example: `rgqa sample vqa-card`")
def vqa_card() -> None:
    """Write the model card of the sample's answer nets from what their training said."""
    from research.synthetic_world.vqa_model_card import write_vqa_card

    run_command(write_vqa_card)


@app.command(epilog="Example: `rgqa sample serve --model rp --model blind --port 8123`")
def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(help="A net to serve: rp, vanilla, blind, mix ...; may be repeated. rp, if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the nets.")] = 0,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    no_logprobs: Annotated[
        bool, typer.Option("--no-logprobs", help="Leave log probabilities out without a word.")
    ] = False,
    delay_seconds: Annotated[float, typer.Option(min=0, max=3600, help="Seconds before each reply.")] = 0.0,
    failure_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Share of requests that end with 500.")
    ] = 0.0,
    truncation_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Share of replies cut off before the first token.")
    ] = 0.0,
    max_requests_per_second: Annotated[
        int,
        typer.Option(
            min=0, max=1_000_000, help="Requests a second; more get 429 and Retry-After. 0: no limit."
        ),
    ] = 0,
) -> None:
    """Serve the sample's own answer nets on 127.0.0.1 in OpenAI's form: they look at the images they are sent."""
    from research.synthetic_world.model_server import FaultInjection
    from research.synthetic_world.model_server import serve as serve_nets

    faults = FaultInjection(
        not no_logprobs, delay_seconds, failure_rate, truncation_rate, max_requests_per_second
    )
    run_command(lambda: serve_nets(model or ["rp"], seed, port, faults))


@app.command(
    epilog='Example: `rgqa sample counterfactual-pairs --num-pairs 2000 --seed "$(openssl rand -hex 16)"`'
)
def counterfactual_pairs(
    seed: Annotated[
        str, typer.Option(help="Any text. Only its SHA-256 is written: who knows it can draw the same again.")
    ],
    num_pairs: Annotated[
        int, typer.Option(min=2, max=1_000_000, help="Questions, each at two images; an even number.")
    ] = 2000,
    dataset: Annotated[
        str, typer.Option(help="Of the data set (default: twins- and the hash's first eight digits).")
    ] = "",
) -> None:
    """Draw scenes twice, with one thing altered, and questions that only one of the two has an answer to; writes a data set
    and a release."""
    from research.synthetic_world.counterfactual_release import build_pair_release

    run_command(lambda: build_pair_release(seed, num_pairs, dataset))


@app.command(epilog='Example: `rgqa sample new-world --seed "$(openssl rand -hex 16)" --out ../fresh`')
def new_world(
    seed: Annotated[
        str, typer.Option(help="Any text. Only its SHA-256 is written: who knows it can draw the same again.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="A new folder (default: drawn- and the hash's first eight digits).")
    ] = None,
) -> None:
    """Draw a world that nobody has seen and run the whole pipeline on it; the same command goes on after an interruption."""
    from research.synthetic_world.private_world import build_private_world

    run_command(lambda: build_private_world(seed, out))
