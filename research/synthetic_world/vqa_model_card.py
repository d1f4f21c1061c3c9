"""The model card of the sample's answer nets, from their training.json: `rgqa sample vqa-card`."""

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

**These nets know the drawn world of the sample and nothing else.** They exist so that the benchmark's leaderboard has rows
that anyone can make again; do not use them on photographs. Made by `rgqa sample train-vqa --seed S` for S = {seeds}, this
card by `rgqa sample vqa-card`.

## What they are

`regions.safetensors`: a head on the maps of the sample's own CLIP ([`../clip`](../clip)) that finds things of {kinds} kinds,
their looks and boxes. **The same CLIP chose the candidates of CLIP-Easy and CLIP-Hard.**

The other files: one net each, `<net>-<seed>`; words are matched with regions in three glances. {pointing}
`true_regions` sees the things as they are, with their boxes; `caption_match` is told each region by the words of the
detector, without a place.
Weights are float16 (the figures below are measured with them), {size:.1f} MB in all. `training.json` has each net's recipe and figures. Licence: CC BY 4.0, as the sample.

## What they learned from

| part | worlds | images | questions of each | for |
|---|---|---|---|---|
{parts}

No part shares an image with another, with what the CLIP was trained on, or with the published sample; nothing of testdev
was read. Checkpoints were chosen on part `choose`; the figures below are of part `report`.

All nets but those marked * start from `base` of their seed (`own_...` from `own_base`; {base:g} epochs of answerable questions) and see {more:g} more;
those marked * but the bases are trained {both:g} epochs from nothing. A pseudo unanswerable question is the question of another image, one for
each answerable one.

## The detector on {report} val images

Trained on {look} images, {epochs} epochs, {head_cpu:.0f} CPU-s. Found at a score of 0.3 with an overlap of one half:
recall {recall:.3f}, precision {precision:.3f}; of the things found, all looks are right for {looks:.1%}.
{own}
## The nets on {asked} val questions

Mean over seeds (lowest to highest). AUAF and AUROC are against as many random pairs, of which about a fifth has an answer.

| net | | seeds | parameters | CPU-s a seed | accuracy | AUAF | AUROC |
|---|---|---|---|---|---|---|---|
{rows}

Accuracy by structural type, mean over seeds:

{by_type}
{fitted}"""

FITTED_TEMPLATE = """
The drawn questions lean: of the images that there are, some answers to a question are likelier than others ("Is there a
cloud in the sky?"), and a net that sees no image learns which. GQA's benchmark is balanced (Hudson & Manning, CVPR
2019, section 3.4), so accuracy is also given of the {kept} of these questions that are left when, in each of GQA's local groups, the
commonest answer is cut down to the second commonest and groups of one answer are left out (our rule, simpler than theirs);
structural types count as before. {blind}

| net | accuracy, all | balanced |
|---|---|---|
{balanced}

## When to answer

Fitted by `rgqa sample fit-vqa` for each seed's net `vanilla`: vector scaling and the Selector (Whitehead et al., ECCV 2022,
section 4) on part `fit`, the Selector's settings and epoch chosen on a fifth of its images. On the {asked} questions of part
`report`, in %, mean over seeds (lowest to highest); AUC is the area under risk over coverage, lower is better; C@R is how
much can be answered at risk R with the best threshold. {reached}

| confidence | accuracy | AUC | C@1 | C@5 | C@10 | C@20 |
|---|---|---|---|---|---|---|
{selection}

`fitted-<seed>.safetensors` holds what was fitted, `thresholds.json` the thresholds of all rows, chosen on part `choose`.
"""


OWN_TOWER_TEMPLATE = """
### Another with a tower of its own

`regions_own.safetensors`: a convolutional tower and a head, trained together from random weights on the {images:,} images of
{parts} and their truth ({epochs:g} epochs, half of the images mirrored, {cpu:.0f} CPU-s); the checkpoint was chosen on `choose`. **It never
saw the CLIP**, so the nets on it (`own_...`) show what comes from the CLIP that also chose the candidates. The nets learn from
images that the tower has learned from, too; those on the CLIP's maps do not.
Recall {recall:.3f}, precision {precision:.3f}; of the things found, all looks are right for {looks:.1%}.
"""


def format_range(values: Sequence[float]) -> str:
    """Mean, lowest and highest in percent.

    >>> spread([0.7, 0.74])
    '72.0 (70.0 to 74.0)'
    """
    if not values:
        return "-"
    mean = f"{sum(values) / len(values):.1%}"[:-1]
    return mean if len(values) == 1 else f"{mean} ({min(values):.1%} to {max(values):.1%})".replace("%", "")


def format_card(told: TrainingRuns, fits: FittingRuns, size: float) -> str:
    """The card's text; `size` in MB."""
    found, head = list(told.nets.values()), told.detector
    names = [name for name in NET_CONFIGS if any(run.net == name for run in found)]
    of = {name: [run for run in found if run.net == name] for name in names}
    pointing = (
        "In training the glances\nlearn from the annotations of questions and answers on which thing to rest."
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
        own=_format_own_tower(told),
        rows="\n".join(_row(name, of[name]) for name in names),
        by_type=_by_type(of),
        fitted=_format_fitted(list(fits.seeds.values())) if fits.seeds else "",
    )


def _format_own_tower(told: TrainingRuns) -> str:
    run = told.own_detector
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
        "look": "the detector",
        "learn": "the nets",
        "choose": "choosing checkpoints and thresholds",
        "report": "the figures of this card",
        "fit": "fitting what is said of a net's confidence",
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
    """What fit-vqa found: accuracy on balanced questions, and selection."""
    nets = [name for name in NET_CONFIGS if any(name in run.accuracy for run in runs)]
    even = {net: [run.accuracy[net] for run in runs if net in run.accuracy] for net in nets}
    blind = [one["balanced"] for one in even.get("blind", [])]
    columns = ("accuracy", "auc", "c@0.01", "c@0.05", "c@0.1", "c@0.2")
    areas = [_mean([run.selection[row]["auc"] for run in runs]) for row in ("selector", "maxprob")]
    return FITTED_TEMPLATE.format(
        kept=f"{runs[0].num_balanced:,}",
        blind=f"The blind net is right on {format_range(blind)} % of them, {_side(blind)} one half."
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
    """As `spread`, with two decimals: areas are small.

    >>> _spread2([0.02589]), _spread2([0.02, 0.03])
    ('2.59', '2.50 (2.00 to 3.00)')
    """
    mean = f"{100 * _mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.2f} to {100 * max(values):.2f})"


def write_vqa_card() -> None:
    """Write data/sample/vqa/MODEL_CARD.md."""
    told = read_training_runs(OUTPUT_DIR)
    size = sum(path.stat().st_size for path in OUTPUT_DIR.glob("*.safetensors")) / 1e6
    write_text(OUTPUT_DIR / "MODEL_CARD.md", format_card(told, read_fitting_runs(), size))
    report_written(
        "vqa-card", f"{format_count(len(told.nets), 'net')}, {size:.1f} MB", OUTPUT_DIR / "MODEL_CARD.md"
    )
