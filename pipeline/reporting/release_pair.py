"""`rgqa report --releases A B`: two versions of a release, or releases of two data sets, beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from pipeline.auditing.subset_audit import AuditReport
from pipeline.core.files import content_key, read_json, write_text
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.pages import render
from pipeline.core.progress import done
from pipeline.core.records import SUBSETS, Subset
from pipeline.releasing.release_diff import CHANGES, Items, change_counts, changed, named, subsets_of
from pipeline.releasing.release_facts import SubsetCounts, counted
from pipeline.releasing.release_params import ReleaseRecord
from pipeline.reporting.blind_rows import TextFinding, attack_rows, finding

HERE = Path(__file__).parent
SHOWN = 12  # changes of each subset that are listed


class Side(NamedTuple):
    """A release: `counts`, `blind`, `votes` (that count, per UQ) and `categories` (shares of the UQs) by subset."""

    name: str
    origin: str
    simulated: bool
    rehearsal: bool
    counts: dict[str, SubsetCounts]
    blind: dict[str, TextFinding]
    votes: dict[str, float]
    categories: dict[str, dict[str, float]]


def release_pair(folders: tuple[Path, Path], out: Path) -> Path:
    """Write the page and return its path.

    Raises:
        UserError: one of them is no release's folder, the page would lie in it, or its audit.json is of another form.
    """
    check_output_paths([Output("--out", out)], folders)
    both = [subsets_of(folder) for folder in folders]
    sides = [_side(folder, items) for folder, items in zip(folders, both, strict=True)]
    names: list[Subset] = [name for name in SUBSETS if any(name in items for items in both)]
    changes = {name: change_counts(*(items.get(name, {}) for items in both)) for name in names}
    html = render(
        HERE / "release_pair.html.jinja",
        {"percent": lambda share: f"{100 * share:.0f} %"},
        css=Markup((HERE / "page.css").read_text(encoding="utf-8")),  # ours, and in it no text of the data
        sides=sides,
        names=names,
        changes=changes,
        # Of two data sets, or where all ids are new, there is nothing to be compared item by item.
        shared=any(row["gone"] < row["old"] for row in changes.values()),
        kinds=list(CHANGES),
        examples={name: _examples(*(items.get(name, {}) for items in both)) for name in names},
        categories=sorted({kind for side in sides for shares in side.categories.values() for kind in shares}),
    )
    write_text(out, html)
    done("report", f"{sides[0].name} beside {sides[1].name}", out)
    return out


def _side(folder: Path, items: Mapping[Subset, Items]) -> Side:
    record = read_json(folder / "params.json", ReleaseRecord)
    rows = [row for of in items.values() for row in of.values()]
    audit = read_json(folder / "audit.json", AuditReport)
    blind = finding(attack_rows(audit, record.audit.limits))
    uqs = {name: [row for row in of.values() if row.item.unanswerable] for name, of in items.items()}
    return Side(
        name=named(folder),
        origin=record.release.origin,
        simulated=any(row.item.simulated for row in rows),
        rehearsal=any(row.item.rehearsal for row in rows),
        counts={name: counted(name, [row.item for row in of.values()]) for name, of in items.items()},
        blind={row.subset: row for row in blind.rows},
        votes={
            name: sum(row.votes_invalid + row.votes_valid for row in of) / max(1, len(of))
            for name, of in uqs.items()
        },
        categories={
            name: {
                kind: count / len(of)
                for kind, count in Counter(row.item.category or "not known" for row in of).items()
            }
            for name, of in uqs.items()
        },
    )


def _examples(one: Items, other: Items) -> list[tuple[str, str, str, str]]:
    """Some of what changed, by lot: (what, id, before, after), "" for what was not there."""
    text = CHANGES["text"]
    rows = [(kind, *change) for kind in CHANGES for change in changed(one, other, kind)]
    rows += [("added", key, "", text(other[key])) for key in other.keys() - one.keys()]
    rows += [("gone", key, text(one[key]), "") for key in one.keys() - other.keys()]
    return sorted(sorted(rows, key=lambda row: content_key("releases", *row[:2]))[:SHOWN])
