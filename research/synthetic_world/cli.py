"""`rgqa sample`: build and check the synthetic sample, and train its CLIP model and VQA models.

Heavy modules are imported inside the functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command

app = new_app(
    "Build and check the synthetic sample data set that comes with this project.", "rgqa sample build --check"
)


def rate_option(help: str) -> Any:
    """Return an option for a proportion."""
    return typer.Option(min=0, max=1, help=help)


@app.command(epilog="Example: `rgqa sample build --check`")
def build(
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare the existing files with the generated ones and write nothing."),
    ] = False,
    all_truth: Annotated[
        bool,
        typer.Option(
            "--all-truth",
            help="Also write the ground truth of train and val. It is not in the repository, because it can be regenerated from the seed.",
        ),
    ] = False,
) -> None:
    """Write data/sample/source and data/sample/truth, or compare them with the generated files."""
    from research.synthetic_world.build import build_sample, check_sample

    run_command(lambda: check_sample(all_truth) if check else build_sample(all_truth))


@app.command(epilog="Example: `rgqa sample verify`")
def verify() -> None:
    """Check the answer to every sample question with an independent program executor, which shares no code with the question generator."""
    from research.synthetic_world.verify import verify_sample

    run_command(verify_sample)


@app.command(epilog="Example: `rgqa sample train-clip --resume-from data/sample/clip --small-image-steps 0`")
def train_clip(
    image_chunks: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Train on this many chunks of 256 images.")
    ] = 200,
    text_steps: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Train for this many steps on texts only.")
    ] = 3000,
    small_image_steps: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Train for this many steps on small images.")
    ] = 6000,
    image_steps: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Train for this many steps on full-sized images.")
    ] = 5000,
    resume_from: Annotated[
        Path | None, typer.Option(help="Start from the weights of an earlier run in this folder.")
    ] = None,
    num_threads: Annotated[int, typer.Option(min=1, max=1024, help="Use this many CPU threads.")] = 2,
) -> None:
    """Train the sample's own small CLIP on synthetic train images and their texts, and write data/sample/clip."""
    from research.synthetic_world.train_clip import train_sample_clip

    run_command(
        lambda: train_sample_clip(
            image_chunks, (text_steps, small_image_steps, image_steps), resume_from, num_threads
        )
    )


@app.command(epilog="Example: `rgqa sample clip-card`")
def clip_card() -> None:
    """Measure the sample's CLIP model on unseen images, after `make repro`, and write its model card."""
    from research.synthetic_world.clip_model_card import write_card

    run_command(write_card)


@app.command(epilog="Example: `rgqa sample train-vqa --seed 1 --num-workers 2`")
def train_vqa(
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=2**32 - 1, help="Seed of the models. Images and detector are the same for all seeds."
        ),
    ] = 0,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Train only this model, and the model from which it is fine-tuned. Can be repeated."
        ),
    ] = None,
    num_workers: Annotated[
        int, typer.Option(min=1, max=1024, help="Train this many models at a time, each on one CPU core.")
    ] = 2,
) -> None:
    """Train the sample's region detectors and VQA models on synthetic images, and write data/sample/vqa."""
    from research.synthetic_world.train_vqa import train_sample_vqa

    run_command(lambda: train_sample_vqa(seed, model or (), num_workers))


@app.command(epilog="Example: `rgqa sample fit-vqa --num-workers 2`")
def fit_vqa(
    num_workers: Annotated[
        int, typer.Option(min=1, max=1024, help="Fit this many seeds at a time, each on one CPU core.")
    ] = 2,
) -> None:
    """Fit the confidence methods that detect unanswerable questions for all seeds of the VQA models, choose thresholds, and write data/sample/vqa."""
    from research.synthetic_world.fit_vqa import fit_sample_vqa

    run_command(lambda: fit_sample_vqa(num_workers))


@app.command(epilog="Example: `rgqa sample vqa-card`")
def vqa_card() -> None:
    """Write the model card of the sample's VQA models from the results of their training."""
    from research.synthetic_world.vqa_model_card import write_vqa_card

    run_command(write_vqa_card)


# Options of `rgqa sample serve` that only the simulated vision-language model has.
VLM_OPTIONS = (
    "images scene_graphs miss_rate invention_rate color_error_rate json_fault_rate persistence guess_rate"
)


@app.command(
    epilog="Example: `rgqa sample serve --model rp --model blind --port 8123`\n\n"
    "Example: `rgqa sample serve --as vlm --miss-rate 0.15 --color-error-rate 0.15`"
)
def serve(
    context: typer.Context,
    kind: Annotated[
        Literal["nets", "vlm"],
        typer.Option(
            "--as",
            help="Serve the sample's VQA models (nets), or a simulated vision-language model (vlm) that sees what the complete scene graphs "
            "say, and replies to `rgqa draft` and `rgqa annotate panel`.",
        ),
    ] = "nets",
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Serve this model: rp, vanilla, blind (text-only), mix ... Can be repeated (default: rp)."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of the models, or with `--as vlm` of the errors.")
    ] = 0,
    images: Annotated[
        Path, typer.Option(metavar="FOLDER", help="vlm: the images that the model knows.")
    ] = Path("data/sample/source/images"),
    scene_graphs: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="vlm: the complete scene graphs of these images (testdev_sceneGraphs.json).",
        ),
    ] = Path("data/sample/truth"),
    miss_rate: Annotated[float, rate_option("vlm: miss this proportion of the objects.")] = 0.0,
    invention_rate: Annotated[
        float,
        rate_option("vlm: invent this number of objects, as a proportion of the objects."),
    ] = 0.0,
    color_error_rate: Annotated[
        float, rate_option("vlm: take this proportion of the colors for another color.")
    ] = 0.0,
    json_fault_rate: Annotated[
        float,
        rate_option("vlm: truncate this proportion of the JSON replies, or put text around them."),
    ] = 0.0,
    persistence: Annotated[
        float,
        rate_option("vlm: for this proportion of the objects, all looks at an image have the same errors."),
    ] = 0.5,
    guess_rate: Annotated[
        float,
        rate_option("vlm: guess an answer to this proportion of the questions that the model cannot answer."),
    ] = 0.5,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Listen on this port. 0 chooses a free port.")
    ] = 0,
    no_logprobs: Annotated[
        bool, typer.Option("--no-logprobs", help="Omit log probabilities, even if a request asks for them.")
    ] = False,
    delay_seconds: Annotated[
        float, typer.Option(min=0, max=3600, help="Wait this many seconds before each reply.")
    ] = 0.0,
    failure_rate: Annotated[
        float, rate_option("Let this proportion of requests fail with status 500.")
    ] = 0.0,
    truncation_rate: Annotated[
        float,
        rate_option("Return this proportion of replies empty, with finish reason `length`."),
    ] = 0.0,
    max_requests_per_second: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Answer requests beyond this number per second with status 429 and Retry-After. 0 means no limit.",
        ),
    ] = 0,
) -> None:
    """Serve the sample's own VQA models, or a simulated vision-language model, on 127.0.0.1 as an OpenAI-compatible server.

    The VQA models see only the image in each request. The simulated vision-language model recognizes an image of the synthetic world, and
    sees what the complete scene graph says, with errors at the given rates.
    """
    if kind == "nets":
        refuse_options(context, VLM_OPTIONS, "only --as vlm has these errors")
    else:
        refuse_options(context, "model no_logprobs", "--as vlm serves one model, without log probabilities")
    from research.synthetic_world.model_server import ChatModel, FaultInjection, load_nets
    from research.synthetic_world.model_server import serve as serve_model

    faults = FaultInjection(
        not no_logprobs, delay_seconds, failure_rate, truncation_rate, max_requests_per_second
    )

    def load() -> ChatModel:
        if kind == "nets":
            return load_nets(model or ["rp"], seed)
        from research.synthetic_world.vision_model import VisionErrors, load_vision_model

        errors = VisionErrors(
            miss_rate, invention_rate, color_error_rate, json_fault_rate, persistence, guess_rate, seed
        )
        return load_vision_model(images, scene_graphs, errors)

    run_command(lambda: serve_model(load(), port, faults))


@app.command(
    epilog='Example: `rgqa sample counterfactual-pairs --num-pairs 2000 --seed "$(openssl rand -hex 16)"`'
)
def counterfactual_pairs(
    seed: Annotated[str, typer.Option(help="Secret seed, any text. Only its SHA-256 is written.")],
    num_pairs: Annotated[
        int,
        typer.Option(
            min=2,
            max=1_000_000,
            help="Generate this many pairs (one question about two images). Must be even.",
        ),
    ] = 2000,
    dataset: Annotated[
        str,
        typer.Option(
            help="Name of the data set (default: counterfactual- and the first eight digits of the seed's hash)."
        ),
    ] = "",
) -> None:
    """Generate pairs of scenes that differ in one object, with questions that are answerable for only one of the two scenes.

    Writes a data set and a release."""
    from research.synthetic_world.counterfactual_release import build_pair_release

    run_command(lambda: build_pair_release(seed, num_pairs, dataset))


@app.command(epilog='Example: `rgqa sample new-world --seed "$(openssl rand -hex 16)" --out ../fresh`')
def new_world(
    seed: Annotated[str, typer.Option(help="Secret seed, any text. Only its SHA-256 is written.")],
    out: Annotated[
        Path | None,
        typer.Option(help="New folder (default: world- and the first eight digits of the seed's hash)."),
    ] = None,
) -> None:
    """Generate a private synthetic world and run the whole pipeline on it.

    The same command continues after an interruption.
    """
    from research.synthetic_world.private_world import build_private_world

    run_command(lambda: build_private_world(seed, out))
