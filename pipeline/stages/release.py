"""Write the release: the folder that others download and cite.

Reads   everything that earlier stages decided: items, questions, pictures, candidates, verdicts, drops, audit
Writes  data/release/<data set>/<version>/   see its README.md for every file
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from annotation.study.quality_html import bounds, page
from annotation.study.quality_report import Quality
from pipeline.benchmark.release.card import card
from pipeline.benchmark.release.card_image import card_picture
from pipeline.benchmark.release.check_release import write_checksums
from pipeline.benchmark.release.croissant import croissant
from pipeline.benchmark.release.errata import FILE as ERRATA
from pipeline.benchmark.release.errata import Erratum, errata_of, errata_text
from pipeline.benchmark.release.harness_folder import write_pack
from pipeline.benchmark.release.licences import licence_text
from pipeline.benchmark.release.provenance import all_dropped, canary, provenance
from pipeline.benchmark.release.release_images import release_images
from pipeline.benchmark.release.release_summary import PAIRING, ReleaseFacts, VoteCounts, counts_of
from pipeline.benchmark.release.subset_files import release_order, write_subset
from pipeline.benchmark.release.wheel import build_wheel
from pipeline.candidates.encoders.embedding_cache import EmbedReport
from pipeline.core import params
from pipeline.core.atomic_files import replacing, write_text
from pipeline.core.errors import Problems, UserError, counted, run
from pipeline.core.item_counts import check_item_counts
from pipeline.core.json_files import copy_file, read_json, write_json, write_jsonl
from pipeline.core.jsonl_index import InOrder, Joined, Singles
from pipeline.core.no_answer_texts import means_no_answer
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import SUBSETS, Item, Picture, Question, Subset, Verdict, Verified
from pipeline.core.release_params import ReleaseParams, check_fields

LATER = {"paper", "leaderboard"}  # stages of the evaluation: what they do does not change a release


class AuditedSubset(msgspec.Struct):
    smallest_auaf_difference: float


class AuditSummary(msgspec.Struct):
    """What the release says of audit.json (`pipeline.benchmark.auditing.subset_audit.AuditReport`, which would bring the verifier along)."""

    warnings: tuple[str, ...]
    table: str
    subsets: dict[Subset, AuditedSubset]


COPIED = ("audit/audit.json", "audit/audit.md", "collect/set_aside.jsonl")


def main() -> None:
    check_fields()
    folders, p, version = Folders(), params.load("release", ReleaseParams), params.version()
    items = InOrder(folders.file(Item), Item, release_order(version))
    if not len(items):
        raise UserError("no items to release: balance kept none; see its report and the verdicts collected")
    check_item_counts(folders)
    refuse_no_answers(items)
    facts = facts_of(items, folders, p, version)
    check_version(version, facts.rehearsal)
    home = folders.release(version)
    pictures = {row.picture_id: row for row in folders.rows(Picture)}
    known = Joined(folders.file(Picture), pictures)
    shown = [known[key] for key in sorted({item.picture_id for item in items})]
    with release_images(shown) if p.pictures else nullcontext({}) as ready:
        pictures |= ready
        write_items(home, items, folders, facts.canary, p, pictures)
        for path in (folders.stage(name) for name in COPIED):
            copy_file(path, home / path.name)
        made_by = {name: values for name, values in params.section().items() if name not in LATER}
        write_json(home / "params.json", {"dataset": folders.dataset, "version": version, **made_by})
        write_texts(home, items, folders, facts, pictures if p.pictures else {})
        build_wheel(home / "scorers", version)
        paths = {key: row.path for key, row in pictures.items()}
        write_pack(home, items, paths, version, p.pictures)
    write_checksums(home)
    uqs = sum(subset.uqs for subset in facts.subsets)
    done("release", f"{counted(len(items), 'item')}, {uqs:,} unanswerable", home)


def refuse_no_answers(items: Iterable[Item]) -> None:
    """Refuse AQs whose answer says that there is none, as scorers do.

    Raises:
        UserError: lists them.
    """
    problems = Problems(
        "AQs whose answer says that there is no answer; leave them out of the source and run dvc repro"
    )
    for item in items:
        if not item.unanswerable and means_no_answer(item.answer):
            problems.add(item.item_id, f"{item.answer!r} in {item.subset}")
    problems.raise_if_any()


def check_version(version: str, rehearsal: bool) -> None:
    """Refuse a rehearsal whose version does not say so, and any other release whose version does."""
    if rehearsal != version.endswith("-rehearsal"):
        wanted = f'params.yaml: version: "{version.partition("-")[0]}-rehearsal"'
        raise UserError(
            f'version {version!r}: a rehearsal, and nothing else, has a version that ends in "-rehearsal"; edit '
            + (wanted if rehearsal else "`version` in params.yaml")
        )


def write_items(
    home: Path,
    items: Collection[Item],
    folders: Folders,
    mark: str,
    p: ReleaseParams,
    pictures: Mapping[str, Picture],
) -> None:
    """The items of each subset, and the stories of all of them and of what was dropped."""
    for subset in track(SUBSETS, "release", unit="subset"):
        if members := [item for item in items if item.subset == subset]:
            write_subset(home, subset, members, pictures, mark, p)
    questions = Singles(folders.file(Question), Question, "question_id")
    verified = Singles(folders.file(Verified), Verified, "candidate.candidate_id")
    write_jsonl(home / "provenance.jsonl", provenance(items, questions, verified))
    write_jsonl(home / "verdicts.jsonl", folders.rows(Verdict))
    dropped = all_dropped(folders, folders.rows(Verified))
    in_order = sorted(dropped, key=lambda row: (row.stage, row.subset, row.candidate_id))
    write_jsonl(home / "dropped.jsonl", in_order)


def vote_counts(items: Iterable[Item], verified: Iterable[Verified], quality: Quality) -> VoteCounts:
    """What the UQs among the items rest on."""
    uqs = {item.item_id for item in items if item.unanswerable}
    votes, decided_by = Counter[int](), Counter[str]()
    for row in verified:
        if row.candidate.candidate_id in uqs:
            decided_by[row.decided_by] += 1
            votes.update([row.votes_invalid + row.votes_valid] if row.decided_by == "votes" else ())
    agreed, wrong = quality.agreement[0], quality.wrong
    people = [row for row in quality.annotators if not row.expert]
    told = (
        f"On {counted(agreed.candidates, 'candidate')}, sampled at random, that two or more judged, Krippendorff's alpha is {bounds(agreed.alpha)} and Gwet's AC1 "
        f"{bounds(agreed.ac1)}, with 95 % intervals."
    )
    return VoteCounts(
        rule=str(quality.settings.get("rule", "")),
        annotators=len(people),
        excluded=sum(bool(row.excluded) for row in people),
        votes=dict(votes),
        by_expert=decided_by["expert"],
        agreement=told
        if agreed.candidates
        else "No candidate sampled at random was judged twice: nothing is known of agreement.",
        invalid_filters=quality.invalid_filters,
        wrong="" if wrong.value is None else f"{wrong.value:.2%} ({wrong.low:.2%} to {wrong.high:.2%})",
    )


def facts_of(items: Collection[Item], folders: Folders, p: ReleaseParams, version: str) -> ReleaseFacts:
    """What card, licences and croissant.json tell, from the reports of the stages."""
    audit = read_json(folders.stage("audit") / "audit.json", AuditSummary)
    model = read_json(folders.stage("embed") / "embed.json", EmbedReport).model
    quality = read_json(folders.stage("collect") / "quality.json", Quality)
    counts, errata = counts_of(items), errata_of(folders)
    there, ids = {subset.name for subset in counts["subsets"]}, faulty(items, errata)
    missing = [
        f"{subset} has no item: none of its candidates was verified and could be balanced."
        for subset in SUBSETS
        if subset not in there
    ]
    return ReleaseFacts(
        **counts,
        dataset=folders.dataset,
        version=version,
        canary=canary(folders.dataset, version, counts["simulated"], counts["rehearsal"]),
        pairing=PAIRING[read_json(folders.stage("balance") / "balance.json")["rule"]]
        if any(name.startswith("clip") for name in there)
        else "",
        judged=vote_counts(items, folders.rows(Verified), quality),
        model=model.model,
        weights=model.weights_sha256,
        warnings=(*audit.warnings, *missing),
        audit_table=audit.table,
        resolved={subset: row.smallest_auaf_difference for subset, row in audit.subsets.items()},
        errata=errata,
        faulty=sum(row.item_id in ids for row in errata),
        p=p,
    )


def faulty(items: Iterable[Item], errata: Sequence[Erratum]) -> set[str]:
    """The ids of the items of which there is an erratum."""
    noted = {row.item_id for row in errata}
    return {item.item_id for item in items if item.item_id in noted} if noted else set()


def write_texts(
    home: Path,
    items: Collection[Item],
    folders: Folders,
    facts: ReleaseFacts,
    pictures: Mapping[str, Picture],
) -> None:
    """Card with its picture, licences, description, errata and the quality report (with pictures only if they are in the
    release)."""
    paths = {key: row.path for key, row in pictures.items()}
    write_text(
        home / "quality.html", page(read_json(folders.stage("collect") / "quality.json", Quality), paths)
    )
    title = f"{facts.p.title} {facts.version}"
    with replacing(home / "card.png") as file:
        file.write(card_picture(items, {key: Path(path) for key, path in paths.items()}))
    write_text(home / "README.md", card(facts, home))
    write_text(home / "LICENSE", licence_text(title, facts.p, [subset.name for subset in facts.subsets]))
    write_json(home / "croissant.json", croissant(home, facts))
    write_text(home / "ERRATA.md", errata_text(title, facts.errata, faulty(items, facts.errata)))
    write_json(home / ERRATA, facts.errata)


if __name__ == "__main__":
    run(main)
