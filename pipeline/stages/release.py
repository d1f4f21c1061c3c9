"""Write the release: the folder that others download and cite.

Reads   everything that earlier stages decided: items, questions, pictures, candidates, verdicts, drops, audit
Writes  data/release/<data set>/<version>/   see its README.md for every file
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pipeline.core import params
from pipeline.core.errors import UserError, run
from pipeline.core.files import copy_file, read_json, read_jsonl, write_json, write_jsonl, write_text
from pipeline.core.params import Params
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import (
    SUBSETS,
    Dropped,
    Item,
    Judgement,
    Picture,
    Question,
    Record,
    Step,
    Verdict,
    Verified,
)
from pipeline.releasing.card import CardFacts, card
from pipeline.releasing.checksums import write_checksums
from pipeline.releasing.croissant import croissant
from pipeline.releasing.parquet_tables import write_table
from pipeline.releasing.rgqa_format import rgqa_rows
from pipeline.releasing.sanity import sanity_predictions, score_predictions
from pipeline.releasing.wheel import build_wheel

SIMULATED = "VERDICTS SIMULATED BY PROGRAMS."
REHEARSAL = "REHEARSAL, NO BENCHMARK: verdicts simulated from graphs that were put together from questions."


Told = Annotated[str, msgspec.Meta(min_length=1)]


class ReleaseParams(Params):
    """Parameters of the release.

    Attributes:
        title: name on the card. origin: one paragraph on where pictures and questions come from.
        licence, licence_url: of the data. published: date of the version, YYYY-MM-DD (never taken from a clock).
        pictures: put the pictures into the tables; if not, `fetch_recipe` says how to get them.
        folds, seed: of the blind sanity predictions.
    """

    title: Told
    origin: Told
    licence: Told
    licence_url: Told
    published: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
    pictures: bool = True
    fetch_recipe: str = ""
    folds: Annotated[int, msgspec.Meta(ge=2)] = 5
    seed: int = 0


class Provenance(Record):
    """An item's whole story."""

    item: Item
    source_text: str
    source_picture_id: str
    program: tuple[Step, ...]
    judgement: Judgement | None
    votes_invalid: int
    votes_valid: int
    votes_set_aside: int


def canary(dataset: str, version: str, simulated: bool = False, rehearsal: bool = False) -> str:
    """A string that stands in every row and nowhere else: if a model knows it, it has seen the benchmark. Where people
    judged nothing it says so."""
    warning = f"{REHEARSAL} " if rehearsal else f"{SIMULATED} " if simulated else ""
    return f"{warning}RGQA-CANARY {uuid.uuid5(uuid.NAMESPACE_URL, f'rgqa-pipeline/{dataset}/{version}')}"


def provenance(
    items: Sequence[Item], questions: dict[str, Question], verified: dict[str, Verified]
) -> Iterator[Provenance]:
    """Join every item with its source question and, for a UQ, its candidate, evidence and votes."""
    for item in items:
        source = questions[item.question_id]
        found = verified.get(item.item_id)
        yield Provenance(
            item=item,
            source_text=source.text,
            source_picture_id=source.picture_id,
            program=found.candidate.program if found and found.candidate.program else source.program,
            judgement=found.judgement if found else None,
            votes_invalid=found.votes_invalid if found else 0,
            votes_valid=found.votes_valid if found else 0,
            votes_set_aside=found.votes_set_aside if found else 0,
        )


def not_unanswerable(verified: Iterable[Verified]) -> Iterator[Dropped]:
    """Candidates that the verdicts ended: said to be answerable, in doubt, or never judged."""
    for row in verified:
        if row.status != "unanswerable":
            c = row.candidate
            yield Dropped(
                candidate_id=c.candidate_id,
                subset=c.subset,
                picture_id=c.picture_id,
                question_id=c.question_id,
                text=c.text,
                stage="collect",
                reason=row.status,
                detail=f"{row.votes_invalid} invalid, {row.votes_valid} valid",
            )


def main() -> None:
    folders, p, version = Folders(), params.load("release", ReleaseParams), params.version()
    items = list(read_jsonl(folders.stage("balance") / "items.jsonl", Item))
    if not items:
        raise UserError("no items to release: balance kept none; see its report and the verdicts collected")
    questions = {q.question_id: q for q in read_jsonl(folders.stage("ingest") / "questions.jsonl", Question)}
    pictures = {q.picture_id: q for q in read_jsonl(folders.stage("ingest") / "pictures.jsonl", Picture)}
    verified = {
        v.candidate.candidate_id: v for v in read_jsonl(folders.stage("collect") / "verified.jsonl", Verified)
    }
    audit: dict[str, Any] = read_json(folders.stage("audit") / "audit.json")
    embed: dict[str, Any] = read_json(folders.stage("embed") / "embed.json")
    rule: str = read_json(folders.stage("balance") / "balance.json")["rule"]
    rehearsal = any(item.rehearsal for item in items)
    if rehearsal != version.endswith("-rehearsal"):
        raise UserError(
            f'version {version!r}: a rehearsal, and nothing else, has a version that ends in "-rehearsal"; edit '
            + (
                f'params.yaml: version: "{version.partition("-")[0]}-rehearsal"'
                if rehearsal
                else "`version` in params.yaml"
            )
        )
    home = folders.release(version)
    mark = canary(folders.dataset, version, any(item.simulated for item in items), rehearsal)

    for subset in track(SUBSETS, "release", unit="subset"):
        _write_subset(home, [item for item in items if item.subset == subset], subset, pictures, mark, p)
    write_jsonl(home / "provenance.jsonl", provenance(items, questions, verified))
    write_jsonl(home / "verdicts.jsonl", read_jsonl(folders.stage("collect") / "verdicts.jsonl", Verdict))
    write_jsonl(home / "dropped.jsonl", _all_dropped(folders, verified.values()))
    write_json(home / "params.json", {"dataset": folders.dataset, "version": version, **params.section()})
    for stage, name in (
        ("audit", "audit.json"),
        ("audit", "audit.md"),
        ("collect", "set_aside.jsonl"),
        ("collect", "quality.html"),
    ):
        copy_file(folders.stage(stage) / name, home / name)
    write_text(
        home / "ERRATA.md",
        f"# Errata of {p.title} {version}\n\nNone known. Items found faulty are listed here by `item_id`, with the reason.\n",
    )
    write_text(
        home / "LICENSE",
        f"{p.title} {version}: questions, verdicts and pictures of this release are licensed under\n{p.licence}\n{p.licence_url}\n",
    )
    released = {item.subset for item in items}
    missing = [
        f"`{subset}` has no item: none of its candidates was verified and could be balanced."
        for subset in SUBSETS
        if subset not in released
    ]
    facts = CardFacts(
        title=f"REHEARSAL of {p.title}" if rehearsal else p.title,
        version=version,
        licence=p.licence,
        origin=p.origin,
        canary=mark,
        balance_rule=rule,
        model=embed["model"]["model"],
        weights=embed["model"]["weights_sha256"],
        pictures_included=p.pictures,
        fetch_recipe=p.fetch_recipe,
        warnings=(*audit["warnings"], *missing),
        audit_table=audit["table"],
    )
    write_text(home / "README.md", card(items, facts))
    write_json(
        home / "croissant.json",
        croissant(
            home,
            name=f"rgqa-{folders.dataset}",
            version=version,
            licence_url=p.licence_url,
            published=p.published,
            description=f"{REHEARSAL + ' ' if rehearsal else ''}{p.title}: answerable and unanswerable questions about pictures.",
        ),
    )
    build_wheel(home / "scorers", version)
    write_checksums(home)
    done("release", f"{len(items):,} items, {sum(i.unanswerable for i in items):,} unanswerable", home)


def _write_subset(
    home: Path, items: Sequence[Item], subset: str, pictures: dict[str, Picture], mark: str, p: ReleaseParams
) -> None:
    if not items:
        return
    rows = rgqa_rows(items, mark)
    write_text(
        home / "rgqa" / f"{subset}.json",
        "[\n" + ",\n".join(msgspec.json.encode(row).decode() for row in rows) + "\n]\n",
    )
    for part in ("dev", "test"):
        members = [item for item in items if item.part == part]
        if members:
            write_table(home / "data" / f"{subset}-{part}.parquet", members, pictures, mark, p.pictures)
    expected = {}
    for name, predictions in sanity_predictions(items, p.folds, p.seed).items():
        write_json(home / "sanity" / subset / f"{name}.json", predictions)
        expected[name] = score_predictions(items, predictions)
    write_json(home / "sanity" / subset / "expected.json", expected)


def _all_dropped(folders: Folders, verified: Iterable[Verified]) -> list[Dropped]:
    files = [("perturb", "unperturbed.jsonl"), ("screen", "dropped.jsonl"), ("balance", "unpaired.jsonl")]
    rows = [row for stage, name in files for row in read_jsonl(folders.stage(stage) / name, Dropped)]
    rows += not_unanswerable(verified)
    return sorted(rows, key=lambda row: (row.stage, row.subset, row.candidate_id))


if __name__ == "__main__":
    run(main)
