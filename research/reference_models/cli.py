"""`rgqa baselines`: train the baselines of RGQA and Reliable VQA on precomputed region features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from pipeline.core.command_line import new_app
from pipeline.core.errors import run_command

app = new_app()
# The largest seed of NumPy and scikit-learn.
LARGEST_SEED = 2**32 - 1


@app.command(
    epilog="Example: `rgqa baselines --dataset gqa --features data/gqa/features --baseline msp --baseline rp --seed 0`"
)
def baselines(
    features: Annotated[
        Path,
        Option(
            help="Read region features from this folder: GQA's HDF5 files, arrays, or one .npz per image."
        ),
    ],
    dataset: Annotated[str | None, Option(help="Use this data set. Default: the one in params.yaml.")] = None,
    train_questions: Annotated[
        Path | None,
        Option(
            help="Train on this file or folder of questions in GQA's format. Default: the questions of the data set."
        ),
    ] = None,
    val_questions: Annotated[
        Path | None,
        Option(
            help="Select checkpoints on this file or folder of questions. Default: the questions of the data set."
        ),
    ] = None,
    release: Annotated[
        Path | None,
        Option(
            help="Answer the questions of this release folder or subset file. Default: the release of the data set whose version is `version` in params.yaml."
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        Option(
            help="Train this baseline: msp, maxprob, odin, odin_rounded, energy_top2, energy_all, mahalanobis, mahalanobis_own, vector_scaling, selector, rp, mix, ens, resample, rp_confidence, k_plus_1, branched, multi_branched, separated or text_only_net. Can be repeated. Default: all of them."
        ),
    ] = None,
    seed: Annotated[
        list[int] | None,
        Option(min=0, max=LARGEST_SEED, help="Train with this random seed. Can be repeated. Default: 0."),
    ] = None,
    base_epochs: Annotated[
        float,
        Option(
            min=0,
            max=100_000,
            help="Train the base model, from which most other models are fine-tuned, for this number of epochs.",
        ),
    ] = 5.0,
    finetune_epochs: Annotated[
        float,
        Option(
            min=0,
            max=100_000,
            help="Fine-tune each model that starts from the base model for this number of epochs.",
        ),
    ] = 2.0,
    num_answers: Annotated[
        int,
        Option(
            min=2,
            max=1_000_000,
            help="Limit the answer vocabulary to the N most frequent answers of the training questions.",
        ),
    ] = 1842,
    num_val_questions: Annotated[
        int, Option(min=2, max=1_000_000, help="Evaluate each checkpoint on N validation questions.")
    ] = 10_000,
    architecture: Annotated[
        Literal["match", "butd"],
        Option(
            help="Choose the architecture: match (attention, and features that say how well words match regions), or butd (attention only)."
        ),
    ] = "match",
    device: Annotated[
        Literal["auto", "cpu", "cuda"], Option(help="Choose the device. auto uses a GPU if there is one.")
    ] = "auto",
    checkpoint_dir: Annotated[
        Path | None,
        Option(help="Store models and checkpoints in this folder. Default: `data/cache/baselines-NAME`."),
    ] = None,
    out: Annotated[
        Path | None, Option(help="Write predictions to this folder. Default: `data/NAME/predictions`.")
    ] = None,
) -> None:
    """Train the baselines of RGQA and Reliable VQA on region features, and answer the questions of a release
    with them.

    A stopped run can be resumed with the same command.
    """
    from research.reference_models.baseline_nets import BaselineConfig
    from research.reference_models.baseline_rows import BaselineRequest, run_baselines

    config = BaselineConfig(
        num_answers, base_epochs, finetune_epochs, num_val_questions, use_match=architecture == "match"
    )
    rows, seeds = baseline or (), seed or (0,)
    request = BaselineRequest(
        features,
        train_questions,
        val_questions,
        dataset,
        release,
        rows,
        seeds,
        config,
        device,
        checkpoint_dir,
        out,
    )
    run_command(lambda: run_baselines(request))
