"""`rgqa baselines`: train the papers' baselines on precomputed region features."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from pipeline.core.command_line import new_app
from pipeline.core.errors import run_command

app = new_app()
LARGEST_SEED = 2**32 - 1  # what NumPy and scikit-learn take


@app.command(
    epilog="Example: `rgqa baselines --dataset gqa --features data/gqa/features --baseline msp --baseline rp --seed 0`"
)
def baselines(
    features: Annotated[
        Path, Option(help="Folder of region features: GQA's HDF5, arrays, or a .npz for each image.")
    ],
    dataset: Annotated[str | None, Option(help="As params.yaml says if not given.")] = None,
    train_questions: Annotated[
        Path | None,
        Option(help="Questions in GQA's form, a file or a folder of them; of the source if not given."),
    ] = None,
    val_questions: Annotated[Path | None, Option(help="Likewise; checkpoints are chosen on them.")] = None,
    release: Annotated[
        Path | None,
        Option(help="What to answer: a release's folder, or a subset's JSON; this version's if not given."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        Option(help="A row of the papers, as often as wanted; all that can be made if not given."),
    ] = None,
    seed: Annotated[
        list[int] | None, Option(min=0, max=LARGEST_SEED, help="As often as wanted; 0 if not given.")
    ] = None,
    base_epochs: Annotated[
        float, Option(min=0, max=100_000, help="Of the net that most others start from.")
    ] = 5.0,
    finetune_epochs: Annotated[float, Option(min=0, max=100_000, help="Of each net after it.")] = 2.0,
    num_answers: Annotated[
        int, Option(min=2, max=1_000_000, help="The most frequent answers of train that nets know.")
    ] = 1842,
    num_val_questions: Annotated[
        int, Option(min=2, max=1_000_000, help="Questions of val on which a checkpoint is tried.")
    ] = 10_000,
    architecture: Annotated[
        Literal["match", "butd"], Option(help="match, or butd: attention without matches.")
    ] = "match",
    device: Annotated[
        Literal["auto", "cpu", "cuda"], Option(help="auto takes a GPU if there is one.")
    ] = "auto",
    checkpoint_dir: Annotated[
        Path | None, Option(help="Nets and checkpoints; `data/cache/baselines-NAME` if not given.")
    ] = None,
    out: Annotated[Path | None, Option(help="`data/NAME/predictions` if not given.")] = None,
) -> None:
    """Train the papers' baselines on region features. They answer a release; goes on where it stopped."""
    from research.reference_models.baseline_nets import BaselineConfig
    from research.reference_models.baseline_rows import BaselineRequest, run_baselines

    plan = BaselineConfig(
        num_answers, base_epochs, finetune_epochs, num_val_questions, use_match=architecture == "match"
    )
    rows, seeds = baseline or (), seed or (0,)
    wanted = BaselineRequest(
        features,
        train_questions,
        val_questions,
        dataset,
        release,
        rows,
        seeds,
        plan,
        device,
        checkpoint_dir,
        out,
    )
    run_command(lambda: run_baselines(wanted))
