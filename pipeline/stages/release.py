"""Write the release: the folder that others download and cite.

Reads   everything that earlier stages decided: items, questions, pictures, candidates, verdicts, drops, audit
Writes  data/release/<data set>/<version>/   see its README.md for every file
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.auditing.subset_audit import AuditReport
from pipeline.core import params
from pipeline.core.errors import UserError, run
from pipeline.core.files import copy_file, read_json, read_jsonl, write_json, write_jsonl, write_text
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import SUBSETS, Item, Picture, Question, Verdict, Verified
from pipeline.encoders.embedding import EmbedReport
from pipeline.releasing.all_dropped import all_dropped
from pipeline.releasing.card import CardFacts, card
from pipeline.releasing.checksums import write_checksums
from pipeline.releasing.croissant import croissant
from pipeline.releasing.provenance import REHEARSAL, ReleaseParams, canary, provenance
from pipeline.releasing.subset_files import write_subset
from pipeline.releasing.wheel import build_wheel

COPIED = {"audit": ("audit.json", "audit.md"), "collect": ("set_aside.jsonl", "quality.html")}


def main() -> None:
    folders, p, version = Folders(), params.load("release", ReleaseParams), params.version()
    items = list(read_jsonl(folders.stage("balance") / "items.jsonl", Item))
    if not items:
        raise UserError("no items to release: balance kept none; see its report and the verdicts collected")
    rehearsal = any(item.rehearsal for item in items)
    check_version(version, rehearsal)
    home = folders.release(version)
    mark = canary(folders.dataset, version, any(item.simulated for item in items), rehearsal)
    write_items(home, items, folders, mark, p)
    for stage, names in COPIED.items():
        for name in names:
            copy_file(folders.stage(stage) / name, home / name)
    write_json(home / "params.json", {"dataset": folders.dataset, "version": version, **params.section()})
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
    ingest, collect = folders.stage("ingest"), folders.stage("collect")
    questions = {row.question_id: row for row in read_jsonl(ingest / "questions.jsonl", Question)}
    pictures = {row.picture_id: row for row in read_jsonl(ingest / "pictures.jsonl", Picture)}
    verified = {row.candidate.candidate_id: row for row in read_jsonl(collect / "verified.jsonl", Verified)}
    for subset in track(SUBSETS, "release", unit="subset"):
        if members := [item for item in items if item.subset == subset]:
            write_subset(home, subset, members, pictures, mark, p)
    write_jsonl(home / "provenance.jsonl", provenance(items, questions, verified))
    write_jsonl(home / "verdicts.jsonl", read_jsonl(collect / "verdicts.jsonl", Verdict))
    dropped = list(all_dropped(folders, verified.values()))
    dropped.sort(key=lambda row: (row.stage, row.subset, row.candidate_id))
    write_jsonl(home / "dropped.jsonl", dropped)


def write_texts(
    home: Path, items: Sequence[Item], folders: Folders, mark: str, version: str, p: ReleaseParams
) -> None:
    """The card, the licence and the list of errata."""
    audit = read_json(folders.stage("audit") / "audit.json", AuditReport)
    model = read_json(folders.stage("embed") / "embed.json", EmbedReport).model
    missing = [
        f"`{subset}` has no item: none of its candidates was verified and could be balanced."
        for subset in SUBSETS
        if not any(item.subset == subset for item in items)
    ]
    facts = CardFacts(
        title=f"REHEARSAL of {p.title}" if any(item.rehearsal for item in items) else p.title,
        version=version,
        licence=p.licence,
        origin=p.origin,
        canary=mark,
        balance_rule=read_json(folders.stage("balance") / "balance.json")["rule"],
        model=model.model,
        weights=model.weights_sha256,
        pictures_included=p.pictures,
        fetch_recipe=p.fetch_recipe,
        warnings=(*audit.warnings, *missing),
        audit_table=audit.table,
    )
    name = f"{p.title} {version}"
    write_text(home / "README.md", card(items, facts))
    write_text(
        home / "ERRATA.md",
        f"# Errata of {name}\n\nNone known. Items found faulty are listed here by `item_id`, with the reason.\n",
    )
    write_text(
        home / "LICENSE",
        f"{name}: questions, verdicts and pictures of this release are licensed under\n{p.licence}\n{p.licence_url}\n",
    )


if __name__ == "__main__":
    run(main)
