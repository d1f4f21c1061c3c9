"""Write the model card of the sample's VQA models from training.json and fitted.json: `rgqa sample
vqa-card`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.atomic_files import write_text
from pipeline.core.errors import format_count
from pipeline.core.progress import report_written
from research.reference_models.detector_table import DETECTORS
from research.reference_models.net_configs import NET_CONFIGS
from research.synthetic_world.fit_vqa import FittingRun, FittingRuns, read_fitting_runs
from research.synthetic_world.train_vqa import (
    BASE_EPOCHS,
    MORE_EPOCHS,
    OUTPUT_DIR,
    POINTING_WEIGHT,
    ModelRun,
    TrainingRuns,
    read_training_runs,
)
from research.synthetic_world.vqa_regions import OWN_TOWER_SUBSETS
from research.synthetic_world.vqa_worlds import CHUNK_SIZE, WORLD_SERIES

CARD_TEMPLATE = """# The sample's answer nets

**These nets know only the synthetic world of the sample.** They exist so that the benchmark's leaderboard has rows that
anyone can reproduce. Do not use them on photographs. Made by `rgqa sample train-vqa --seed S` for S = {seeds}; this card by
`rgqa sample vqa-card`.

## What they are

`regions.safetensors`: a head on the feature maps of the sample's own CLIP ([`../clip`](../clip)) that detects objects of
{kinds} kinds, their attributes and boxes. **The same CLIP chose the candidates of CLIP-Easy and CLIP-Hard.**

The other files hold one net each, `<net>-<seed>`. A net matches words with regions in three glances. {pointing}
`true_regions` sees the true objects with their boxes. `caption_match` sees each region as the detector's words, without
a position.
Weights are float16 (the results below are measured with them), {size:.1f} MB in all. `training.json` has each net's training configuration and results. Licence: CC BY 4.0, as the sample.

## Training data

| subset | worlds | images | questions per image | used for |
|---|---|---|---|---|
{parts}

No subset shares an image with another, with the CLIP's training data, or with the published sample. Nothing of testdev was
read. Checkpoints were chosen on subset `choose`; the results below are for subset `report`.

All nets without * start from `base` of their seed (`own_...` from `own_base`; {base:g} epochs of answerable questions) and train
for {more:g} more epochs. Nets with *, except the bases, train for {both:g} epochs from scratch. A pseudo-unanswerable question is the
question of another image, one for each answerable question.

## The detector on {report} val images

Trained on {look} images, {epochs} epochs, {head_cpu:.0f} CPU-s. At a score of 0.3 and an overlap of one half: recall {recall:.3f},
precision {precision:.3f}. For {looks:.1%} of the detected objects, all attributes are right.
{own}
## The nets on {asked} val questions

Mean over seeds (lowest to highest). AUAF and AUROC are against as many random pairs, of which about a fifth is answerable.

| net | | seeds | parameters | CPU-s per seed | accuracy | AUAF | AUROC |
|---|---|---|---|---|---|---|---|
{rows}

Accuracy by structural type, mean over seeds:

{by_type}
{fitted}"""

FITTED_TEMPLATE = """
The questions are biased: some answers are more likely than others ("Is there a cloud in the sky?"), and a net without image
learns which. GQA's benchmark is balanced (Hudson & Manning, CVPR 2019, section 3.4). Accuracy is therefore also given for a
balanced subset of {kept} questions: in each of GQA's local groups, the most common answer is reduced to the frequency of the
second, and groups with one answer are left out (a rule of ours, simpler than GQA's). Structural types keep their weights.
{blind}

| net | accuracy, all | balanced |
|---|---|---|
{balanced}

## When to answer

Fitted by `rgqa sample fit-vqa` for each seed's net `vanilla`: vector scaling and the Selector (Whitehead et al., ECCV 2022,
section 4) on subset `fit`. The Selector's settings and epoch were chosen on a fifth of its images. Results for the {asked}
questions of subset `report`, in %, mean over seeds (lowest to highest). AUC is the area under the risk-coverage curve, lower is
better. C@R is the highest coverage at risk R. {reached}

| confidence | accuracy | AUC | C@1 | C@5 | C@10 | C@20 |
|---|---|---|---|---|---|---|
{selection}

`fitted-<seed>.safetensors` holds the fitted values, `thresholds.json` the thresholds of all rows, chosen on subset `choose`.
"""


OWN_TOWER_TEMPLATE = """
### A second detector with its own tower

`regions_own.safetensors`: a convolutional tower and a head, trained together from scratch on the {images:,} images of
{parts} and their truth ({epochs:g} epochs, half of the images mirrored, {cpu:.0f} CPU-s). The checkpoint was chosen on `choose`. **It
never used the CLIP**, so the nets on it (`own_...`) show the effect of the CLIP that also chose the candidates. These nets
train on images that the tower was trained on; the nets on the CLIP's maps do not.
Recall {recall:.3f}, precision {precision:.3f}. For {looks:.1%} of the detected objects, all attributes are right.
"""


def format_range(values: Sequence[float]) -> str:
    """Format mean, lowest and highest value in percent.

    >>> format_range([0.7, 0.74])
    '72.0 (70.0 to 74.0)'
    """
    if not values:
        return "-"
    mean = f"{sum(values) / len(values):.1%}"[:-1]
    return mean if len(values) == 1 else f"{mean} ({min(values):.1%} to {max(values):.1%})".replace("%", "")


def format_card(training: TrainingRuns, fits: FittingRuns, size: float) -> str:
    """Return the text of the model card. `size` is the size of all weights in MB."""
    found, head = list(training.nets.values()), training.detector
    names = [name for name in NET_CONFIGS if any(run.net == name for run in found)]
    of = {name: [run for run in found if run.net == name] for name in names}
    pointing = (
        "In training the glances\nlearn from the annotations of questions and answers which object to attend to."
        if POINTING_WEIGHT
        else ""
    )
    return CARD_TEMPLATE.format(
        seeds=", ".join(str(seed) for seed in sorted({run.seed for run in found})),
        kinds=62,
        pointing=pointing,
        size=size,
        parts="\n".join(
            f"| {part} | {s.split} {s.start:,} to {s.start + s.chunks * CHUNK_SIZE - 1:,} | {s.chunks * CHUNK_SIZE:,} | "
            f"{s.questions_per_image or '-'} | {_for(part)} |"
            for part, s in WORLD_SERIES.items()
        ),
        base=BASE_EPOCHS,
        more=MORE_EPOCHS,
        both=BASE_EPOCHS + MORE_EPOCHS,
        report=f"{WORLD_SERIES['report'].chunks * CHUNK_SIZE:,}",
        asked=f"{WORLD_SERIES['report'].chunks * CHUNK_SIZE * WORLD_SERIES['report'].questions_per_image:,}",
        look=f"{head.images:,}",
        epochs=head.epochs,
        head_cpu=head.cpu_seconds,
        recall=head.report["recall"],
        precision=head.report["precision"],
        looks=head.report["looks right"],
        own=_format_own_tower(training),
        rows="\n".join(_row(name, of[name]) for name in names),
        by_type=_by_type(of),
        fitted=_format_fitted(list(fits.seeds.values())) if fits.seeds else "",
    )


def _format_own_tower(training: TrainingRuns) -> str:
    run = training.own_detector
    if run is None:
        return ""
    return OWN_TOWER_TEMPLATE.format(
        images=run.images,
        parts=" and ".join(f"`{part}`" for part in OWN_TOWER_SUBSETS),
        epochs=run.epochs,
        cpu=run.cpu_seconds,
        recall=run.report["recall"],
        precision=run.report["precision"],
        looks=run.report["looks right"],
    )


def _for(part: str) -> str:
    return {
        "look": "training the detector",
        "learn": "training the nets",
        "choose": "choosing checkpoints and thresholds",
        "report": "the results of this card",
        "fit": "fitting calibration and selection",
    }[part]


def _row(name: str, found: Sequence[ModelRun]) -> str:
    cpu = sum(run.cpu_seconds for run in found) / len(found)
    figures = [
        format_range([run.report[key] for run in found if key in run.report])
        for key in ("accuracy", "auaf", "auroc")
    ]
    star = "*" if NET_CONFIGS[name].trains_from_scratch else ""
    return f"| {name}{star} | {NET_CONFIGS[name].title} | {len(found)} | {found[0].parameters:,} | {cpu:.0f} | {' | '.join(figures)} |"


def _by_type(of: dict[str, list[ModelRun]]) -> str:
    kinds = ("query", "choose", "verify", "logical", "compare")
    rows = [f"| net | {' | '.join(kinds)} |", "|---" * (1 + len(kinds)) + "|"]
    for name, found in of.items():
        if "accuracy" in found[0].report:
            means = [sum(run.report[kind] for run in found) / len(found) for kind in kinds]
            rows.append(f"| {name} | {' | '.join(f'{100 * mean:.1f}' for mean in means)} |")
    return "\n".join(rows)


def _format_fitted(runs: Sequence[FittingRun]) -> str:
    """Format the results of fit-vqa: accuracy on balanced questions, and selective answering."""
    nets = [name for name in NET_CONFIGS if any(name in run.accuracy for run in runs)]
    even = {net: [run.accuracy[net] for run in runs if net in run.accuracy] for net in nets}
    blind = [one["balanced"] for one in even.get("blind", [])]
    columns = ("accuracy", "auc", "c@0.01", "c@0.05", "c@0.1", "c@0.2")
    areas = [_mean([run.selection[row]["auc"] for run in runs]) for row in ("selector", "maxprob")]
    return FITTED_TEMPLATE.format(
        kept=f"{runs[0].num_balanced:,}",
        blind=f"The net without image is right on {format_range(blind)} % of them, {_side(blind)} one half."
        if blind
        else "",
        balanced="\n".join(
            f"| {net} | {format_range([one['all'] for one in each])} | {format_range([one['balanced'] for one in each])} |"
            for net, each in even.items()
        ),
        asked=f"{WORLD_SERIES['report'].chunks * CHUNK_SIZE * WORLD_SERIES['report'].questions_per_image:,}",
        reached=f"The Selector {'reaches' if areas[0] <= areas[1] else 'does not reach'} MaxProb in AUC.",
        selection="\n".join(
            f"| {DETECTORS[row].title} | "
            + " | ".join(
                _format_precise_range([run.selection[row][column] for run in runs]) for column in columns
            )
            + " |"
            for row in runs[0].selection
        ),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _side(values: Sequence[float]) -> str:
    return "below" if _mean(values) < 0.5 else "not below"


def _format_precise_range(values: Sequence[float]) -> str:
    """Format mean, lowest and highest value in percent like `format_range`, but with two decimals.

    >>> _format_precise_range([0.02589]), _format_precise_range([0.02, 0.03])
    ('2.59', '2.50 (2.00 to 3.00)')
    """
    mean = f"{100 * _mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.2f} to {100 * max(values):.2f})"


def write_vqa_card() -> None:
    """Write data/sample/vqa/MODEL_CARD.md."""
    training = read_training_runs(OUTPUT_DIR)
    size = sum(path.stat().st_size for path in OUTPUT_DIR.glob("*.safetensors")) / 1e6
    write_text(OUTPUT_DIR / "MODEL_CARD.md", format_card(training, read_fitting_runs(), size))
    report_written(
        "vqa-card", f"{format_count(len(training.nets), 'net')}, {size:.1f} MB", OUTPUT_DIR / "MODEL_CARD.md"
    )
