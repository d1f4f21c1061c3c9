"""Write the release: the folder that users download and cite.

Reads   results of earlier stages: items, questions, images, candidates, verdicts, dropped candidates, audit
Writes  data/release/<data set>/<version>/   the README.md in this folder describes every file
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from annotation.study.quality_html import format_interval, render_page
from annotation.study.quality_report import QualityReport
from pipeline.benchmark.release.card import render_card
from pipeline.benchmark.release.card_image import draw_card_image
from pipeline.benchmark.release.check_release import write_checksums
from pipeline.benchmark.release.croissant import make_croissant
from pipeline.benchmark.release.errata import ERRATA_FILE, Erratum, read_errata, render_errata
from pipeline.benchmark.release.harness_folder import write_harness_folder
from pipeline.benchmark.release.hub_evaluation import write_hub_evaluation
from pipeline.benchmark.release.licences import render_licence
from pipeline.benchmark.release.provenance import iter_dropped, make_canary, make_provenance
from pipeline.benchmark.release.release_images import prepare_release_images
from pipeline.benchmark.release.release_summary import (
    PAIRING_DESCRIPTIONS,
    ReleaseSummary,
    StudyFacts,
    VoteCounts,
    count_items,
    describe_drafting,
)
from pipeline.benchmark.release.subset_files import make_release_order, write_subset
from pipeline.benchmark.release.wheel import build_wheel
from pipeline.candidates.encoders.embedding_cache import EmbedReport
from pipeline.core import params
from pipeline.core.atomic_files import atomic_write, write_text
from pipeline.core.errors import Problems, UserError, format_count, run_command
from pipeline.core.item_counts import check_item_counts
from pipeline.core.json_files import copy_file, read_json, write_json, write_jsonl
from pipeline.core.jsonl_index import RecordLookup, SortedJsonl, UniqueIndex
from pipeline.core.no_answer_texts import is_no_answer
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import report_written, track
from pipeline.core.records import SUBSETS, CollectedCandidate, ImageRecord, Item, Question, Subset, Verdict
from pipeline.core.release_params import STUDY_FILE, ReleaseParams, check_release_params

# Sections of params.yaml for stages that only evaluate models. They are not recorded in a release.
EVALUATION_STAGES = {"paper", "leaderboard"}


class AuditedSubset(msgspec.Struct):
    min_detectable_auaf_difference: float


class AuditSummary(msgspec.Struct):
    """The fields of audit.json that this stage uses.

    `subset_audit.AuditReport` is not used, because importing it would also load the verifier.
    """

    warnings: tuple[str, ...]
    attack_table: str
    subsets: dict[Subset, AuditedSubset]


class IngestSummary(msgspec.Struct):
    """The fields of ingest.json that this stage uses. `IngestReport` would also load what reads source folders."""

    wording: str = ""
    drafted: dict[str, dict[str, int]] = {}


class BalanceSummary(msgspec.Struct):
    """The fields of balance.json that this stage uses."""

    rule: str
    drafted_questions: dict[str, int] = {}


COPIED_FILES = ("audit/audit.json", "audit/audit.md", "collect/excluded_answers.jsonl")


def main() -> None:
    check_release_params()
    folders, p, version = (
        DatasetFolders(),
        params.load_params("release", ReleaseParams),
        params.read_release_version(),
    )
    items = SortedJsonl(folders.record_file(Item), Item, make_release_order(version))
    if not len(items):
        raise UserError(
            "balance/items.jsonl: there are no items to release. See balance.json and collect.json for the reasons."
        )
    check_item_counts(folders)
    check_answers(items)
    facts = summarize_release(items, folders, p, version)
    check_version(version, facts.rehearsal)
    home = folders.release_dir(version)
    images = {row.image_id: row for row in folders.read_records(ImageRecord)}
    known = RecordLookup(folders.record_file(ImageRecord), images)
    shown = [known[key] for key in sorted({item.image_id for item in items})]
    with prepare_release_images(shown) if p.include_images else nullcontext({}) as ready:
        images |= ready
        write_items(home, items, folders, facts.canary, p, images)
        for path in (folders.stage_dir(name) for name in COPIED_FILES):
            copy_file(path, home / path.name)
        used_params = {
            name: values
            for name, values in params.read_dataset_params().items()
            if name not in EVALUATION_STAGES
        }
        write_json(home / "params.json", {"dataset": folders.dataset, "version": version, **used_params})
        if p.include_images:
            write_hub_evaluation(home, items, images, p.title)
        write_texts(home, items, folders, facts, images if p.include_images else {})
        build_wheel(home / "scorers", version)
        paths = {key: row.path for key, row in images.items()}
        write_harness_folder(home, items, paths, version, p.include_images)
    write_checksums(home)
    uqs = sum(subset.uqs for subset in facts.subsets)
    report_written("release", f"{format_count(len(items), 'item')}, {uqs:,} unanswerable", home)


def check_answers(items: Iterable[Item]) -> None:
    """Check that no answerable question (AQ) has an answer which the scorers would read as "there is no
    answer".

    Raises:
        UserError: Lists the AQs with such an answer.
    """
    problems = Problems(
        "AQs whose answer means that none exists (remove them from the source and run dvc repro)"
    )
    for item in items:
        if not item.unanswerable and is_no_answer(item.answer):
            problems.add(item.item_id, f"{item.answer!r} in {item.subset}")
    problems.raise_if_any()


def check_version(version: str, rehearsal: bool) -> None:
    """Check that the version ends in "-rehearsal" if and only if the release is a rehearsal.

    Raises:
        UserError: The version has the ending without a rehearsal, or a rehearsal has a version without it.
    """
    if rehearsal != version.endswith("-rehearsal"):
        wanted = f'params.yaml: version: "{version.partition("-")[0]}-rehearsal"'
        raise UserError(
            f'version {version!r}: the version of a rehearsal must end in "-rehearsal", and no other version may. Edit '
            + (wanted if rehearsal else "`version` in params.yaml")
        )


def write_items(
    home: Path,
    items: Collection[Item],
    folders: DatasetFolders,
    canary: str,
    p: ReleaseParams,
    images: Mapping[str, ImageRecord],
) -> None:
    """Write the items of each subset, and the provenance of all items and dropped candidates."""
    for subset in track(SUBSETS, "release", unit="subset"):
        if members := [item for item in items if item.subset == subset]:
            write_subset(home, subset, members, images, canary, p)
    questions = UniqueIndex(folders.record_file(Question), Question, "question_id")
    verified = UniqueIndex(
        folders.record_file(CollectedCandidate), CollectedCandidate, "candidate.candidate_id"
    )
    write_jsonl(home / "provenance.jsonl", make_provenance(items, questions, verified))
    write_jsonl(home / "verdicts.jsonl", folders.read_records(Verdict))
    dropped = iter_dropped(folders, folders.read_records(CollectedCandidate))
    in_order = sorted(dropped, key=lambda row: (row.stage, row.subset, row.candidate_id))
    write_jsonl(home / "dropped.jsonl", in_order)


def count_votes(
    items: Iterable[Item], verified: Iterable[CollectedCandidate], quality: QualityReport
) -> VoteCounts:
    """Summarize the votes on which the UQs among the items are based."""
    uqs = {item.item_id for item in items if item.unanswerable}
    votes, decided_by = Counter[int](), Counter[str]()
    for row in verified:
        if row.candidate.candidate_id in uqs:
            decided_by[row.decided_by] += 1
            votes.update([row.votes_invalid + row.votes_valid] if row.decided_by == "votes" else ())
    agreed, label_error = quality.agreement[0], quality.label_error
    people = [row for row in quality.annotators if not row.is_adjudicator]
    agreement_text = (
        f"On {format_count(agreed.candidates, 'candidate')}, sampled at random, that two or more judged, Krippendorff's alpha is {format_interval(agreed.krippendorff_alpha)} and Gwet's AC1 "
        f"{format_interval(agreed.gwet_ac1)}, with 95 % intervals."
    )
    return VoteCounts(
        aggregation_rule=str(quality.settings.get("aggregation", "")),
        annotators=len(people),
        excluded=sum(bool(row.exclusion_reasons) for row in people),
        uqs_by_votes=dict(votes),
        by_adjudicator=decided_by["adjudicator"],
        by_panel=decided_by["panel"],
        agreement_text=agreement_text
        if agreed.candidates
        else "No candidate sampled at random was judged twice: nothing is known of agreement.",
        invalid_gold_answers=quality.num_invalid_gold_answers,
        label_error_text=""
        if label_error.value is None
        else f"{label_error.value:.2%} (95 % interval: {label_error.low:.2%} to {label_error.high:.2%}). An adjudicator, who did not see the votes, called {label_error.num_wrong} of {label_error.num_audited} of them answerable; the interval allows for the errors that adjudicators make on gold questions",
        doubts=tuple(quality.doubts),
    )


def summarize_release(
    items: Collection[Item], folders: DatasetFolders, p: ReleaseParams, version: str
) -> ReleaseSummary:
    """Summarize the release for its card, licences and croissant.json, from the reports of the stages."""
    audit = read_json(folders.stage_dir("audit") / "audit.json", AuditSummary)
    embedded = read_json(folders.stage_dir("embed") / "embed.json", EmbedReport)
    ingested = read_json(folders.stage_dir("ingest") / "ingest.json", IngestSummary)
    balanced = read_json(folders.stage_dir("balance") / "balance.json", BalanceSummary)
    quality = read_json(folders.stage_dir("collect") / "quality.json", QualityReport)
    counts, errata = count_items(items), read_errata(folders)
    there, ids = {subset.name for subset in counts["subsets"]}, find_faulty_items(items, errata)
    missing = [
        f"{subset} has no item: none of its candidates was verified and could be balanced."
        for subset in folders.read_subsets()
        if subset not in there
    ]
    return ReleaseSummary(
        **counts,
        dataset=folders.dataset,
        version=version,
        canary=make_canary(
            folders.dataset, version, counts["simulated"], counts["rehearsal"], bool(counts["unjudged"])
        ),
        pairing_text=PAIRING_DESCRIPTIONS[balanced.rule]
        if any(name.startswith("clip") for name in there)
        else "",
        vote_counts=count_votes(items, folders.read_records(CollectedCandidate), quality),
        clip_model=embedded.model.model if embedded.model else "",
        clip_weights_sha256=embedded.model.weights_sha256 if embedded.model else "",
        uses_sample_clip=embedded.uses_sample_clip,
        wording_text=ingested.wording,
        panel=quality.panel or None,
        has_drafted_questions=any("questions" in row for row in ingested.drafted.values()),
        drafting_text=describe_drafting(ingested.drafted, balanced.drafted_questions, counts["unjudged"]),
        warnings=(*audit.warnings, *missing),
        attack_table=audit.attack_table,
        min_detectable_difference={
            subset: row.min_detectable_auaf_difference for subset, row in audit.subsets.items()
        },
        errata=errata,
        num_faulty_items=sum(row.item_id in ids for row in errata),
        params=p,
    )


def find_faulty_items(items: Iterable[Item], errata: Sequence[Erratum]) -> set[str]:
    """Return the ids of the items that have an erratum."""
    noted = {row.item_id for row in errata}
    return {item.item_id for item in items if item.item_id in noted} if noted else set()


def write_texts(
    home: Path,
    items: Collection[Item],
    folders: DatasetFolders,
    facts: ReleaseSummary,
    images: Mapping[str, ImageRecord],
) -> None:
    """Write the card with its image, the licences, croissant.json, the errata and the quality report.

    The quality report contains images only if the images are part of the release.
    """
    paths = {key: row.path for key, row in images.items()}
    quality = read_json(folders.stage_dir("collect") / "quality.json", QualityReport)
    write_text(home / "quality.html", render_page(quality, paths))
    write_json(
        home / STUDY_FILE,
        StudyFacts(label_error=quality.label_error, doubts=tuple(quality.doubts), panel=quality.panel),
    )
    title = f"{facts.params.title} {facts.version}"
    with atomic_write(home / "card.png") as file:
        file.write(draw_card_image(items, {key: Path(path) for key, path in paths.items()}))
    write_text(home / "README.md", render_card(facts, home))
    write_text(
        home / "LICENSE", render_licence(title, facts.params, [subset.name for subset in facts.subsets])
    )
    write_json(home / "croissant.json", make_croissant(home, facts))
    write_text(home / "ERRATA.md", render_errata(title, facts.errata, find_faulty_items(items, facts.errata)))
    write_json(home / ERRATA_FILE, facts.errata)


if __name__ == "__main__":
    run_command(main)
