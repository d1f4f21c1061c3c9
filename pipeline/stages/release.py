"""Write the release: the folder that others download and cite.

Reads   everything that earlier stages decided: items, questions, pictures, candidates, verdicts, drops, audit
Writes  data/release/<data set>/<version>/   see its README.md for every file
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from annotation.study.quality_figures import Quality
from annotation.study.quality_page import bounds, page
from pipeline.auditing.subset_audit import AuditReport
from pipeline.core import params
from pipeline.core.errors import UserError, run
from pipeline.core.files import copy_file, read_json, write_json, write_jsonl, write_text
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import SUBSETS, Item, Picture, Question, Verdict, Verified
from pipeline.encoders.embedding import EmbedReport
from pipeline.releasing.card import VoteCounts, card, croissant
from pipeline.releasing.check_release import write_checksums
from pipeline.releasing.harness_tasks import write_tasks
from pipeline.releasing.provenance import REHEARSAL, ReleaseParams, all_dropped, canary, provenance
from pipeline.releasing.subset_files import in_release_order, write_subset
from pipeline.releasing.wheel import build_wheel

LATER = {"leaderboard"}  # stages after this one: what they do with a release does not change it
COPIED = ("audit/audit.json", "audit/audit.md", "collect/set_aside.jsonl")


def main() -> None:
    folders, p, version = Folders(), params.load("release", ReleaseParams), params.version()
    items = in_release_order(folders.rows(Item), version)
    if not items:
        raise UserError("no items to release: balance kept none; see its report and the verdicts collected")
    rehearsal = any(item.rehearsal for item in items)
    check_version(version, rehearsal)
    home = folders.release(version)
    mark = canary(folders.dataset, version, any(item.simulated for item in items), rehearsal)
    write_items(home, items, folders, mark, p)
    for path in (folders.stage(name) for name in COPIED):
        copy_file(path, home / path.name)
    made_by = {name: values for name, values in params.section().items() if name not in LATER}
    write_json(home / "params.json", {"dataset": folders.dataset, "version": version, **made_by})
    write_texts(home, items, folders, mark, version, p)
    description = f"{p.title}: answerable and unanswerable questions about pictures."
    described = croissant(
        home,
        name=f"rgqa-{folders.dataset}",
        version=version,
        description=f"{REHEARSAL} {description}" if rehearsal else description,
        licence_url=p.licence_url,
        published=p.published,
    )
    write_json(home / "croissant.json", described)
    build_wheel(home / "scorers", version)
    write_tasks(home, version)
    write_checksums(home)
    done("release", f"{len(items):,} items, {sum(i.unanswerable for i in items):,} unanswerable", home)


def check_version(version: str, rehearsal: bool) -> None:
    """Refuse a rehearsal whose version does not say so, and any other release whose version does."""
    if rehearsal != version.endswith("-rehearsal"):
        wanted = f'params.yaml: version: "{version.partition("-")[0]}-rehearsal"'
        raise UserError(
            f'version {version!r}: a rehearsal, and nothing else, has a version that ends in "-rehearsal"; edit '
            + (wanted if rehearsal else "`version` in params.yaml")
        )


def write_items(home: Path, items: Sequence[Item], folders: Folders, mark: str, p: ReleaseParams) -> None:
    """The items of each subset, and the stories of all of them and of what was dropped."""
    questions = {row.question_id: row for row in folders.rows(Question)}
    pictures = {row.picture_id: row for row in folders.rows(Picture)}
    verified = {row.candidate.candidate_id: row for row in folders.rows(Verified)}
    for subset in track(SUBSETS, "release", unit="subset"):
        if members := [item for item in items if item.subset == subset]:
            write_subset(home, subset, members, pictures, mark, p)
    write_jsonl(home / "provenance.jsonl", provenance(items, questions, verified))
    write_jsonl(home / "verdicts.jsonl", folders.rows(Verdict))
    dropped = all_dropped(folders, verified.values())
    in_order = sorted(dropped, key=lambda row: (row.stage, row.subset, row.candidate_id))
    write_jsonl(home / "dropped.jsonl", in_order)


def vote_counts(items: Sequence[Item], verified: Iterable[Verified], quality: Quality) -> VoteCounts:
    """What the UQs among the items rest on."""
    uqs = {item.item_id for item in items if item.unanswerable}
    votes = Counter(
        row.votes_invalid + row.votes_valid for row in verified if row.candidate.candidate_id in uqs
    )
    agreed, wrong = quality.agreement[0], quality.wrong
    told = (
        f"On {agreed.candidates:,} candidates that two or more judged, Krippendorff's alpha is {bounds(agreed.alpha)} and Gwet's AC1 "
        f"{bounds(agreed.ac1)}, with 95 % intervals."
    )
    return VoteCounts(
        annotators=len(quality.annotators),
        excluded=sum(bool(row.excluded) for row in quality.annotators),
        votes=dict(votes),
        agreement=told
        if agreed.candidates
        else "No candidate was judged twice: nothing is known of agreement.",
        wrong="" if wrong.value is None else f"{wrong.value:.2%} ({wrong.low:.2%} to {wrong.high:.2%})",
    )


def write_texts(
    home: Path, items: Sequence[Item], folders: Folders, mark: str, version: str, p: ReleaseParams
) -> None:
    """The card, the quality report (with pictures only if they are in the release), the licence and the list of errata."""
    audit = read_json(folders.stage("audit") / "audit.json", AuditReport)
    model = read_json(folders.stage("embed") / "embed.json", EmbedReport).model
    there = {item.subset for item in items}
    missing = [
        f"`{subset}` has no item: none of its candidates was verified and could be balanced."
        for subset in SUBSETS
        if subset not in there
    ]
    quality = read_json(folders.stage("collect") / "quality.json", Quality)
    pictures = {row.picture_id: row.path for row in folders.rows(Picture)} if p.pictures else {}
    write_text(home / "quality.html", page(quality, pictures))
    text = card(
        items,
        p,
        read_json(folders.stage("balance") / "balance.json")["rule"],
        vote_counts(items, folders.rows(Verified), quality),
        version=version,
        canary=mark,
        model=model.model,
        weights=model.weights_sha256,
        warnings=[*audit.warnings, *missing],
        audit_table=audit.table,
    )
    name = f"{p.title} {version}"
    licence = f"{name}: questions, verdicts and pictures of this release are licensed under\n{p.licence}\n{p.licence_url}\n"
    errata = "None known. Items found faulty are listed here by `item_id`, with the reason."
    write_text(home / "README.md", text)
    write_text(home / "ERRATA.md", f"# Errata of {name}\n\n{errata}\n")
    write_text(home / "LICENSE", licence)


if __name__ == "__main__":
    run(main)
