"""`rgqa study`: measure the pipeline itself. Heavy imports happen inside the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.core.command_line import new_app, refuse_options
from pipeline.core.errors import run_command
from pipeline.core.records import Split

app = new_app(
    "Study the pipeline itself: its verifier (which decides from scene graphs whether a question is answerable), its edits, its audit, and how well its benchmark ranks models.",
    "rgqa study verifier-agreement",
)
edit_quality_app = new_app(
    "Let people judge the quality of edited questions.", "rgqa study edit-quality --help"
)
app.add_typer(edit_quality_app, name="edit-quality")

FoldsOption = Annotated[int, typer.Option(min=2, max=100, help="Use this many folds of cross-validation.")]
NumReplicatesOption = Annotated[
    int, typer.Option(min=1, max=100_000, help="Use this many bootstrap replicates for each interval.")
]
MaxPairsOption = Annotated[
    int, typer.Option(min=1, max=1_000_000, help="Use at most this many random pairs of each subset.")
]
ResultsOption = Annotated[Path | None, typer.Option(help="Write all results to this JSON file.")]


def seed_option(help: str) -> Any:
    """Return an option for a seed of NumPy's generators."""
    return typer.Option(min=0, max=2**32 - 1, help=help)


def num_examples_option(help: str) -> Any:
    """Return an option for a number of examples."""
    return typer.Option(min=0, max=1_000_000, help=help)


@app.command(epilog="Example: `rgqa study text-only-baseline --out baseline.json`")
def text_only_baseline(
    folds: FoldsOption = 5,
    bootstrap: NumReplicatesOption = 500,
    seed: Annotated[
        int, seed_option("Seed of the folds, the bootstrap and the random choices of the paper's rules.")
    ] = 20231001,
    max_pairs: MaxPairsOption = 20_000,
    out: ResultsOption = None,
) -> None:
    """Measure how well a text-only model can tell edited questions from originals, before human verification."""
    from research.studies.text_only_baseline import run_text_only_baseline

    run_command(lambda: print(run_text_only_baseline(folds, bootstrap, seed, max_pairs, out)))


@app.command(
    epilog="Example: `rgqa study drafting --images 200 --error-rate 0.05 --error-rate 0.15 --out drafting`"
)
def drafting(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Write images, drafts and projects into this folder.")
    ],
    error_rate: Annotated[
        list[float] | None,
        typer.Option(
            min=0,
            max=1,
            help="Error rate of the simulated vision model. Can be repeated (default: 0, 0.05, 0.15, 0.3).",
        ),
    ] = None,
    images: Annotated[int, typer.Option(min=20, max=100_000, help="Use this number of images.")] = 200,
    seed: Annotated[int, seed_option("Seed of the images and of the errors.")] = 2024,
) -> None:
    """Measure what becomes of the errors of a vision model that drafts questions (`rgqa draft`), from its first look to the release."""
    from research.studies.drafting import run_drafting_study

    rates = error_rate or [0.0, 0.05, 0.15, 0.3]
    run_command(lambda: print(run_drafting_study(rates, images, seed, out.resolve())))


@app.command("doubt", epilog="Example: `rgqa study doubt --out doubt.json`")
def label_doubt(
    split: Annotated[str, typer.Option(help="Examine the items of this split.")] = "test",
    net_seed: Annotated[int, typer.Option(min=0, max=2, help="Use the nets of this seed.")] = 1,
    repetitions: Annotated[
        int, typer.Option(min=1, max=1000, help="Plant errors this many times for each rate.")
    ] = 5,
    seed: Annotated[int, seed_option("Seed of the planted errors.")] = 0,
    out: ResultsOption = None,
) -> None:
    """Measure how many planted wrong labels `rgqa doubt` finds, and whether its probabilities are calibrated."""
    from research.studies.label_doubt import run_doubt_study

    run_command(lambda: print(run_doubt_study(split, net_seed, repetitions, seed, out)))


@app.command(epilog="Example: `rgqa study transformer-attacker --out attackers.json`")
def transformer_attacker(
    folds: FoldsOption = 5,
    bootstrap: NumReplicatesOption = 500,
    seed: Annotated[
        int,
        seed_option(
            "Seed of the folds, the bootstrap, the transformer and the random choices of the paper's rules."
        ),
    ] = 20231001,
    max_pairs: MaxPairsOption = 2_000,
    init_checkpoint: Annotated[
        Path | None,
        typer.Option(help="Start from the checkpoint of the library `transformers` in this folder."),
    ] = None,
    out: ResultsOption = None,
) -> None:
    """Train a small transformer to tell edited questions from originals, and compare it with the audit's text-only classifiers."""

    def page() -> None:
        import torch

        from research.studies.transformer_study import compare_attackers

        # The transformer's matrices are so small that more threads do not make it faster.
        torch.set_num_threads(1)
        print(compare_attackers(folds, bootstrap, seed, max_pairs, init_checkpoint, out))

    run_command(page)


@app.command(epilog="Example: `rgqa study verifier-agreement --num-examples 200 --seed 1`")
def verifier_agreement(
    num_examples: Annotated[
        int,
        num_examples_option(
            "Print this many verdicts instead of the table, half of them about other images."
        ),
    ] = 0,
    seed: Annotated[
        int, seed_option("Seed of the choice of other images and of the verdicts shown.")
    ] = 20231001,
    num_other_images: Annotated[
        int, typer.Option(min=0, max=1000, help="Ask each question about this many other images.")
    ] = 2,
) -> None:
    """Measure how often the verifier agrees with the answers and programs of the source data.

    Run stage `vocabulary` first.
    """
    from research.studies.verifier_agreement import measure_verifier_agreement

    run_command(lambda: print(measure_verifier_agreement(num_examples, seed, num_other_images), end=""))


@app.command(epilog="Example: `rgqa study derived-programs data/gqa/source --split val`")
def derived_programs(
    source: Annotated[Path, typer.Argument(help="Source folder with GQA's question files.")],
    split: Annotated[Split, typer.Option(help="Use this split of the questions.")] = "testdev",
) -> None:
    """Measure how well programs derived from the text of questions agree with GQA's own programs."""
    from research.studies.derived_programs import measure_derived_programs

    run_command(lambda: print(measure_derived_programs(source, split)))


@app.command(epilog="Example: `rgqa study verifier-completeness --source data/gqa/source --split val`")
def verifier_completeness(
    source: Annotated[Path, typer.Option(help="Read GQA's question files in this folder.")] = Path(
        "data/sample/source"
    ),
    split: Annotated[Split, typer.Option(help="Use this split of the questions.")] = "testdev",
    seed: Annotated[int, seed_option("Seed of the simulated graphs and of the omitted facts.")] = 1,
    num_examples: Annotated[
        int,
        num_examples_option(
            "Print this many wrong verdicts for each row of the table (level of completeness)."
        ),
    ] = 0,
) -> None:
    """Measure how often the verifier reaches a verdict, and how often it is right, as scene graphs get less complete."""
    from research.studies.verifier_completeness import measure_verifier_completeness

    run_command(lambda: print(measure_verifier_completeness(source, split, seed, num_examples)))


@edit_quality_app.command(
    epilog="Example: `rgqa study edit-quality create-sheets --count 200 --seed 1 --out sheets`"
)
def create_sheets(
    out: Annotated[Path, typer.Option(help="Write the sheets and their key to this new folder.")],
    count: Annotated[
        int,
        typer.Option(
            min=1,
            max=1_000_000,
            help="Sample this many edited questions of each subset, and as many originals.",
        ),
    ] = 200,
    seed: Annotated[int, seed_option("Seed of the sample and its order.")] = 1,
) -> None:
    """Write sheets with a sample of screened candidates for human raters."""
    from research.studies.annotation_sheets import write_sheets

    run_command(lambda: write_sheets(out, count, seed))


@edit_quality_app.command(
    epilog="Example: `rgqa study edit-quality score-sheets sheets sheets/ann sheets/ben`"
)
def score_sheets(
    sheets: Annotated[Path, typer.Argument(help="Folder made by `create-sheets`.")],
    readers: Annotated[
        list[Path], typer.Argument(help="Filled-in copies of the subfolder `sheets_to_fill`, one per rater.")
    ],
    num_worst: Annotated[
        int, num_examples_option("List this many of the worst edits with their faults.")
    ] = 20,
) -> None:
    """Score filled-in sheets: print the rates of faults with 95 % intervals, the agreement of the raters (kappa), whether the targets are met, and the worst edits."""
    from research.studies.edit_quality import report_edit_quality

    run_command(lambda: print(report_edit_quality(sheets, readers, num_worst)))


@app.command(epilog="Example: `rgqa study abstention-classifier --split held_out`")
def abstention_classifier(
    split: Annotated[str, typer.Option(help="Read these replies: dev, held_out or train.")] = "dev",
    num_examples: Annotated[int, num_examples_option("Print this many wrongly classified replies.")] = 0,
) -> None:
    """Measure how well the abstention classifier of the scorers detects abstentions in replies."""
    from pipeline.core.errors import UserError
    from research.studies.abstention_evaluation import evaluate_abstention_classifier

    def page() -> None:
        if split not in ("dev", "held_out", "train"):
            raise UserError(f"--split is {split!r}. Choose dev, held_out or train.")
        print(evaluate_abstention_classifier(split, num_examples), end="")

    run_command(page)


@app.command(epilog="Example: `rgqa study reason-reader --split held_out`")
def reason_reader(
    split: Annotated[str, typer.Option(help="Read these replies: dev or held_out.")] = "dev",
    num_examples: Annotated[int, num_examples_option("Print this many replies that are read wrongly.")] = 0,
) -> None:
    """Measure how well the scorers read which fault of a question a reply names."""
    from pipeline.core.errors import UserError
    from research.studies.reason_evaluation import evaluate_reason_reader

    def page() -> None:
        if split not in ("dev", "held_out"):
            raise UserError(f"--split is {split!r}. Choose dev or held_out.")
        print(evaluate_reason_reader(split, num_examples), end="")

    run_command(page)


@app.command(
    epilog="Example: `rgqa study train-abstention-classifier --vectors glove.6B.100d.txt --out classifier.npz`"
)
def train_abstention_classifier(
    out: Annotated[Path, typer.Option(help="Write the weights to this file.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Train from scratch with these GloVe vectors (default: continue from the packaged weights of the classifier)."
        ),
    ] = None,
    seed: Annotated[int, seed_option("Set the random seed of initialization and shuffling.")] = 0,
) -> None:
    """Train the abstention classifier on research/studies/replies/train.jsonl.

    Training from scratch takes half an hour on two cores.
    """
    from research.studies.abstention_training import train_and_save

    run_command(lambda: train_and_save(vectors, out, seed))


@app.command(
    epilog="Example: `rgqa study votes-needed --out docs/images/votes.png`\n\n"
    "Example: `rgqa study votes-needed --answerable 0.05 --answerable 0.2 --answerable 0.6`"
)
def votes_needed(
    crowd_seed: Annotated[
        list[int] | None,
        typer.Option(
            help="Simulate the crowd of this seed. Can be repeated (default: 2, 3, 4).", min=0, max=1_000_000
        ),
    ] = None,
    max_votes: Annotated[
        int,
        typer.Option(
            min=1, max=1_000_000, help="Give a candidate at most this many votes in adaptive voting."
        ),
    ] = 5,
    answerable: Annotated[
        list[float] | None,
        typer.Option(
            help="Instead, draw a truth with this proportion of answerable candidates, and measure learned base rates, "
            "forecast and errors. Can be repeated.",
            min=0.01,
            max=0.99,
        ),
    ] = None,
    annotators: Annotated[
        list[int] | None,
        typer.Option(
            help="Number of annotators, with --answerable. Can be repeated (default: 2, 3, 5, 8).",
            min=2,
            max=8,
        ),
    ] = None,
    lazy: Annotated[
        bool,
        typer.Option(
            "--lazy", help="With --answerable: let one of the annotators call every question valid."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write all results to a .json file, or the plot to a .png or .svg file."),
    ] = None,
) -> None:
    """Measure how many votes simulated annotators need.

    Without --answerable, adaptive voting is compared with a fixed number of votes per candidate.
    """
    from research.studies.votes_needed import REPORTED_CROWDS, run_base_rate_study, run_votes_study

    seeds, people = crowd_seed or REPORTED_CROWDS, annotators or (2, 3, 5, 8)
    if answerable:
        run_command(lambda: print(run_base_rate_study(answerable, people, seeds, lazy, out)))
    else:
        run_command(lambda: print(run_votes_study(seeds, max_votes, out)))


@app.command(
    epilog="Example: `rgqa study panel --studies 4`\n\n"
    'Example: `rgqa study panel --panel "2 models of 0.85" --min-people 0 --answerable 0.07`'
)
def panel(
    studies: Annotated[int, typer.Option(min=2, max=10_000, help="Number of studies with each panel.")] = 20,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Seed of the first study. The constants were chosen on seeds from 1,001 on.",
        ),
    ] = 1,
    panel: Annotated[
        list[str] | None,
        typer.Option("--panel", help="Simulate only this panel. Can be repeated (default: all)."),
    ] = None,
    answerable: Annotated[
        float,
        typer.Option(min=0.01, max=0.99, help="Draw a truth with this proportion of answerable candidates."),
    ] = 0.2,
    tasks: Annotated[
        int,
        typer.Option(
            min=100, max=100_000, help="Number of tasks of a study, at least. Whole images are chosen."
        ),
    ] = 600,
    min_people: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=1,
            help="Set collect.min_people to this number: with 0, models decide what nobody judged. Can be repeated (default: 1, 0).",
        ),
    ] = None,
    out: ResultsOption = None,
) -> None:
    """Measure how many votes of people a panel of models saves, and how many labels are wrong then.

    Simulated panels of several strengths judge the tasks before simulated people do. A study takes up to ten seconds."""
    from research.studies.panel_study import run_panel_study

    numbers = range(seed, seed + studies)
    run_command(
        lambda: print(run_panel_study(numbers, panel or (), answerable, tasks, min_people or (1, 0), out))
    )


@app.command(
    epilog="Example: `rgqa study crowds --seed 2 --crowd fast-invalid`\n\n"
    "Example: `rgqa study crowds --out crowds.json`"
)
def crowds(
    seed: Annotated[
        list[int] | None,
        typer.Option(
            help="Simulate the crowds of this seed. Can be repeated (default: 2, 3; the constants were chosen on 1).",
            min=0,
            max=1_000_000,
        ),
    ] = None,
    crowd: Annotated[
        list[str] | None, typer.Option(help="Simulate only this crowd. Can be repeated (default: all).")
    ] = None,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Compare ways of aggregation on the same votes, too: majority vote, Dawid-Skene, GLAD and MACE (needs crowd-kit).",
        ),
    ] = False,
    out: ResultsOption = None,
) -> None:
    """Measure how many candidates are lost or wrongly released if annotators are careless or hostile.

    Each crowd takes up to a minute.
    """
    from research.studies.crowd_robustness import REPORTED_SEEDS, run_crowds_study

    run_command(lambda: print(run_crowds_study(seed or REPORTED_SEEDS, crowd or (), compare, out)))


@app.command(
    epilog="Example: `rgqa study coverage --kind honest-small --studies 20`\n\n"
    "Example: `rgqa study coverage --out coverage.json`"
)
def coverage(
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Simulate only this kind of study. Can be repeated (default: all)."),
    ] = None,
    studies: Annotated[
        int, typer.Option(min=1, max=100_000, help="Simulate this many studies of each kind.")
    ] = 200,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Seed of the first study of each kind; the others have the next ones. Constants were chosen on seeds from 10,000 on.",
        ),
    ] = 100,
    out: ResultsOption = None,
) -> None:
    """Measure how often the interval of the label error contains the truth, and whether posteriors are calibrated.

    A study takes 1 to 6 seconds.
    """
    from research.studies.label_error_coverage import run_coverage_study

    run_command(lambda: print(run_coverage_study(kind or (), studies, seed, out)))


@app.command(epilog="Example: `rgqa study gold-limits --annotators 500`")
def gold_limits(
    annotators: Annotated[
        int, typer.Option(min=1, max=100_000, help="Simulate this many annotators of each accuracy.")
    ] = 2000,
    answers: Annotated[
        int, typer.Option(min=20, max=100_000, help="Let each answer this many gold questions.")
    ] = 800,
) -> None:
    """Measure how often simulated annotators are excluded for their gold questions, and after how many answers."""
    from research.studies.gold_limits import run_gold_limits_study

    run_command(lambda: print(run_gold_limits_study(annotators, answers)))


@app.command(epilog="Example: `rgqa study attribution --net rp --net vanilla --out attribution.json`")
def attribution(
    net: Annotated[
        list[str] | None,
        typer.Option(help="Study this model of the folder vqa/. Can be repeated (default: rp, vanilla)."),
    ] = None,
    net_seed: Annotated[
        list[int] | None,
        typer.Option(
            help="Use the models of this seed. Can be repeated (default: 0, 1, 2).", min=0, max=2**32 - 1
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=100, max=100_000, help="Use this many bootstrap replicates for each interval.")
    ] = 1000,
    seed: Annotated[int, seed_option("Seed of the replicates.")] = 0,
    out: ResultsOption = None,
) -> None:
    """Measure, on a synthetic world with complete scene graphs, whether models attend to the objects that questions refer to."""
    from research.studies.attribution_study import measure_attribution

    run_command(
        lambda: print(
            measure_attribution(net or ["rp", "vanilla"], net_seed or [0, 1, 2], bootstrap, seed, out)
        )
    )


@app.command(epilog="Example: `rgqa study rank-stability world-1a2b3c4d world-5e6f7a8b`")
def rank_stability(
    folders: Annotated[list[Path], typer.Argument(help="Folders made by `rgqa sample new-world`.")],
) -> None:
    """Compare the ranking of the leaderboard's models on this project's data set and on other synthetic worlds."""
    from research.studies.rank_stability import compare_leaderboards

    run_command(lambda: print(compare_leaderboards(folders)))


@app.command(epilog="Example: `rgqa study derive-kinds /usr/share/wordnet`")
def derive_kinds(
    folder: Annotated[Path, typer.Argument(help="Folder with WordNet 3.0's dictionary files.")],
) -> None:
    """Derive kinds.tsv, the table of synonyms and hypernyms of everyday objects, from WordNet."""
    from research.studies.kinds.derive_kinds import write_kinds_table

    run_command(lambda: print(write_kinds_table(folder)))


@app.command(epilog="Example: `rgqa study derive-vocabulary visual-genome-counts data/gqa/source`")
def derive_vocabulary(
    counts: Annotated[
        Path,
        typer.Argument(
            help="Folder with tables of how often objects, attributes and relations occur in Visual Genome."
        ),
    ],
    source: Annotated[Path, typer.Argument(help="Source folder with GQA's questions of val and testdev.")],
) -> None:
    """Derive the default vocabulary from the counts of objects, attributes and relations in Visual Genome and from GQA's questions."""
    from research.studies.derive_vocabulary import derive_vocabulary as derive

    run_command(lambda: print(derive(counts, source)))


@app.command(
    epilog="Example: `rgqa study validity --counterfactual-release data/release/counterfactual-1/1.0.0 --replication-release data/release/counterfactual-2/1.0.0`"
)
def validity(
    context: typer.Context,
    counterfactual_release: Annotated[
        Path,
        typer.Option(
            help="Use the counterfactual pairs of this release, which was made by `rgqa sample counterfactual-pairs`."
        ),
    ],
    replication_release: Annotated[
        Path | None,
        typer.Option(
            help="Also compare with a second set of counterfactual pairs, in this release, which was made with another seed."
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images of --counterfactual-release (default: the images of its data set)."
        ),
    ] = None,
    replication_images: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images of --replication-release (default: the images of its data set)."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Write results, tables and predictions to this folder.")] = Path(
        "data/sample/interim/validity"
    ),
    bootstrap: Annotated[
        int,
        typer.Option(min=20, max=100_000, help="Use this many bootstrap replicates of the images."),
    ] = 1000,
    seed: Annotated[
        int, seed_option("Seed of replicates, folds, random choices and the weaker models.")
    ] = 20231001,
    effects: Annotated[
        bool,
        typer.Option(
            help="Also measure the effects of label noise, of the maximum number of uses of a question, of balancing and of the number of items."
        ),
    ] = True,
    graded_nets: Annotated[
        bool,
        typer.Option(
            help="Also train (once, five CPU minutes) and rank weaker models, which are trained for less time, on fewer images or with fewer regions."
        ),
    ] = False,
) -> None:
    """Compare three rankings of models: by our benchmark, by a benchmark built by RGQA's rules, and by counterfactual pairs."""
    if not replication_release:
        refuse_options(context, "replication_images", "there is no --replication-release")
    from research.studies.ranking_validity import CounterfactualRelease, run_validity_study

    releases = [CounterfactualRelease(counterfactual_release, images)]
    releases += (
        [CounterfactualRelease(replication_release, replication_images)] if replication_release else []
    )
    run_command(
        lambda: run_validity_study(
            releases, out, bootstrap, seed, measure_effects=effects, rank_graded_nets=graded_nets
        )
    )
