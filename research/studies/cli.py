"""`rgqa study`: what is measured now and then, beside the pipeline. Heavy imports happen inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command
from pipeline.core.records import Split

app = new_app(
    "Studies of the pipeline itself: the judge, the edits, the table of kinds.",
    "rgqa study verifier-agreement",
)
edit_quality_app = new_app(
    "Blind sheets of perturbed questions, for two readers.", "rgqa study edit-quality --help"
)
app.add_typer(edit_quality_app, name="edit-quality")

FoldsOption = Annotated[int, typer.Option(min=2, max=100, help="Folds of the cross-validation.")]
RepetitionsOption = Annotated[
    int, typer.Option(min=1, max=100_000, help="Bootstrap replicates of each interval.")
]
MaxPairsOption = Annotated[
    int, typer.Option(min=1, max=1_000_000, help="Pairs tried of each subset, sampled at random.")
]
FiguresOption = Annotated[Path | None, typer.Option(help="A JSON file for the figures.")]


def seed_option(help: str) -> Any:
    """An option for a seed that NumPy takes."""
    return typer.Option(min=0, max=2**32 - 1, help=help)


def num_examples_option(help: str) -> Any:
    """An option that says how many examples are shown."""
    return typer.Option(min=0, max=1_000_000, help=help)


@app.command(epilog="Example: `rgqa study text-only-baseline --out blind.json`")
def text_only_baseline(
    folds: FoldsOption = 5,
    repetitions: RepetitionsOption = 500,
    seed: Annotated[
        int, seed_option("Seed of the folds, the bootstrap and the random choices of the paper's rules.")
    ] = 20231001,
    max_pairs: MaxPairsOption = 20_000,
    out: FiguresOption = None,
) -> None:
    """What models that see only the text can tell of perturbed questions, before anybody has judged one."""
    from research.studies.text_only_baseline import run_text_only_baseline

    run_command(lambda: print(run_text_only_baseline(folds, repetitions, seed, max_pairs, out)))


@app.command(epilog="Example: `rgqa study transformer-attacker --out attackers.json`")
def transformer_attacker(
    folds: FoldsOption = 5,
    repetitions: RepetitionsOption = 500,
    seed: Annotated[
        int,
        seed_option(
            "Seed of the folds, the bootstrap, the transformer and the random choices of the paper's rules."
        ),
    ] = 20231001,
    max_pairs: MaxPairsOption = 2_000,
    init_checkpoint: Annotated[
        Path | None, typer.Option(help="Start from this folder's checkpoint of the library transformers.")
    ] = None,
    out: FiguresOption = None,
) -> None:
    """What a small transformer, trained on the spot, tells of perturbed questions by their text alone."""

    def page() -> None:
        import torch

        from research.studies.transformer_study import compare_attackers

        torch.set_num_threads(1)  # its matrices are too small for more
        print(compare_attackers(folds, repetitions, seed, max_pairs, init_checkpoint, out))

    run_command(page)


@app.command(epilog="Example: `rgqa study verifier-agreement --num-examples 200 --seed 1`")
def verifier_agreement(
    num_examples: Annotated[
        int, num_examples_option("Print this many verdicts instead, half of them on other images.")
    ] = 0,
    seed: Annotated[
        int, seed_option("Seed of the choice of other images and of the verdicts shown.")
    ] = 20231001,
    num_other_images: Annotated[
        int, typer.Option(min=0, max=1000, help="Try each question on this many other images.")
    ] = 2,
) -> None:
    """How often the judge agrees with the source of the data set in use (after stage `vocabulary`)."""
    from research.studies.verifier_agreement import measure_verifier_agreement

    run_command(lambda: print(measure_verifier_agreement(num_examples, seed, num_other_images), end=""))


@app.command(epilog="Example: `rgqa study verifier-completeness --source data/gqa/source --split val`")
def verifier_completeness(
    source: Annotated[Path, typer.Option(help="A source folder with GQA's files of questions.")] = Path(
        "data/sample/source"
    ),
    split: Annotated[Split, typer.Option(help="The split of it that is used.")] = "testdev",
    seed: Annotated[int, seed_option("Seed of the simulated graphs and of what is left out.")] = 1,
    num_examples: Annotated[int, num_examples_option("Print this many wrong verdicts of each row.")] = 0,
) -> None:
    """How much the judge decides, and how much of that is right, by made-up graphs of which a share is left out."""
    from research.studies.verifier_completeness import measure_verifier_completeness

    run_command(lambda: print(measure_verifier_completeness(source, split, seed, num_examples)))


@edit_quality_app.command(
    epilog="Example: `rgqa study edit-quality create-sheets --count 200 --seed 1 --out sheets`"
)
def create_sheets(
    out: Annotated[Path, typer.Option(help="A new folder for the sheets and their key.")],
    count: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000_000,
            help="Sample this many edited questions of each subset, and as many originals.",
        ),
    ] = 200,
    seed: Annotated[int, seed_option("Seed of what is sampled, and of its order.")] = 1,
) -> None:
    """Draw blind sheets of the screened candidates of the data set in use."""
    from research.studies.annotation_sheets import write_sheets

    run_command(lambda: write_sheets(out, count, seed))


@edit_quality_app.command(
    epilog="Example: `rgqa study edit-quality score-sheets sheets sheets/ann sheets/ben`"
)
def score_sheets(
    sheets: Annotated[Path, typer.Argument(help="The folder that `draw` made.")],
    readers: Annotated[list[Path], typer.Argument(help="Filled copies of its folder `to_read`.")],
    worst: Annotated[
        int, num_examples_option("List this many of the worst questions, with what is wrong.")
    ] = 20,
) -> None:
    """What the readers' marks come to: shares with intervals, kappa, targets, the worst questions."""
    from research.studies.edit_quality import report_edit_quality

    run_command(lambda: print(report_edit_quality(sheets, readers, worst)))


@app.command(epilog="Example: `rgqa study abstention-classifier --split held_out`")
def abstention_classifier(
    split: Annotated[str, typer.Option(help="Replies to read: dev, held_out or train.")] = "dev",
    num_examples: Annotated[int, num_examples_option("Print this many replies that are read wrongly.")] = 0,
) -> None:
    """How well the scorers read from a reply's words whether it abstains."""
    from pipeline.core.errors import UserError
    from research.studies.abstention_evaluation import evaluate_abstention_classifier

    def page() -> None:
        if split not in ("dev", "held_out", "train"):
            raise UserError(f"--split is {split!r}, wanted dev, held_out or train")
        print(evaluate_abstention_classifier(split, num_examples), end="")

    run_command(page)


@app.command(
    epilog="Example: `rgqa study train-abstention-classifier --vectors glove.6B.100d.txt --out reader.npz`"
)
def train_abstention_classifier(
    out: Annotated[Path, typer.Option(help="Where the weights go.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Train from scratch with these GloVe vectors (default: continue from the scorers' weights)."
        ),
    ] = None,
    seed: Annotated[int, seed_option("Seed of everything random.")] = 0,
) -> None:
    """Learn to read abstentions from research/studies/replies/train.jsonl; half an hour from nothing, on two cores."""
    from research.studies.abstention_training import train_and_save

    run_command(lambda: train_and_save(vectors, out, seed))


@app.command(epilog="Example: `rgqa study votes-needed --out docs/images/votes.png`")
def votes_needed(
    crowd_seed: Annotated[
        list[int] | None, typer.Option(help="Seeds of the crowds (default: 2, 3, 4).", min=0, max=1_000_000)
    ] = None,
    max_votes: Annotated[
        int,
        typer.Option(
            min=1, max=1_000_000, help="Give a candidate at most this many votes, one after the other."
        ),
    ] = 5,
    out: Annotated[
        Path | None, typer.Option(help="A .json of all figures, or a .png or .svg of the curve.")
    ] = None,
) -> None:
    """How many votes simulated crowds need: one after the other until a verdict is sure, or as many for all."""
    from research.studies.votes_needed import REPORTED_CROWDS, run_votes_study

    run_command(lambda: print(run_votes_study(crowd_seed or REPORTED_CROWDS, max_votes, out)))


@app.command(epilog="Example: `rgqa study attribution --net rp --net vanilla --out looking.json`")
def attribution(
    net: Annotated[list[str] | None, typer.Option(help="Of the folder vqa/ (default: rp, vanilla).")] = None,
    net_seed: Annotated[
        list[int] | None, typer.Option(help="Seeds of each net (default: 0, 1, 2).", min=0, max=2**32 - 1)
    ] = None,
    repetitions: Annotated[
        int, typer.Option(min=100, max=100_000, help="Bootstrap replicates of each interval.")
    ] = 1000,
    seed: Annotated[int, seed_option("Seed of those replicates.")] = 0,
    out: FiguresOption = None,
) -> None:
    """Whether what nets looked at lies where questions point to, by the complete truth of a drawn world."""
    from research.studies.attribution_study import measure_attribution

    run_command(
        lambda: print(
            measure_attribution(net or ["rp", "vanilla"], net_seed or [0, 1, 2], repetitions, seed, out)
        )
    )


@app.command(epilog="Example: `rgqa study rank-stability drawn-1a2b3c4d drawn-5e6f7a8b`")
def rank_stability(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `rgqa sample new-world` made.")],
) -> None:
    """Do worlds that were drawn anew rank the leaderboard's rows alike? This project's data set is compared, too."""
    from research.studies.rank_stability import compare_leaderboards

    run_command(lambda: print(compare_leaderboards(folders)))


@app.command(epilog="Example: `rgqa study derive-kinds /usr/share/wordnet`")
def derive_kinds(
    folder: Annotated[Path, typer.Argument(help="Folder of WordNet 3.0's dictionary files.")],
) -> None:
    """Derive kinds.tsv, the table of synonyms and kinds of everyday things."""
    from research.studies.kinds.derive_kinds import write_kinds_table

    run_command(lambda: print(write_kinds_table(folder)))


@app.command(
    epilog="Example: `rgqa study validity --counterfactual-release data/release/twins-1/1.0.0 --replication-release data/release/twins-2/1.0.0`"
)
def validity(
    context: typer.Context,
    counterfactual_release: Annotated[
        Path,
        typer.Option(help="A release with a subset `twins`: rgqa sample counterfactual-pairs draws one."),
    ],
    replication_release: Annotated[
        Path | None, typer.Option(help="Another of other scenes: how far do twins agree with twins?")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Its images, if not in the data set that it names.")
    ] = None,
    replication_images: Annotated[Path | None, typer.Option(help="The same of the other.")] = None,
    out: Annotated[Path, typer.Option(help="A folder for figures, tables and answers.")] = Path(
        "data/sample/interim/validity"
    ),
    repetitions: Annotated[
        int,
        typer.Option(min=20, max=100_000, help="Bootstrap replicates of each interval, images resampled."),
    ] = 1000,
    seed: Annotated[
        int, seed_option("Seed of these replicates, of folds, of random choices and of further nets.")
    ] = 20231001,
    effects: Annotated[
        bool, typer.Option(help="Also what noise, the cap, balancing and size do to the ranking.")
    ] = True,
    graded_nets: Annotated[
        bool, typer.Option(help="Also train nets of graded strength (once, five CPU minutes) and rank them.")
    ] = False,
) -> None:
    """Does the ranking of rows agree with that by twins? Ours, and the paper's rules on the same data."""
    if not replication_release:
        refuse_options(context, "replication_images", "there is no --replication-release")
    from research.studies.ranking_validity import CounterfactualRelease, run_validity_study

    releases = [CounterfactualRelease(counterfactual_release, images)]
    releases += (
        [CounterfactualRelease(replication_release, replication_images)] if replication_release else []
    )
    run_command(
        lambda: run_validity_study(
            releases, out, repetitions, seed, measure_effects=effects, rank_graded_nets=graded_nets
        )
    )
