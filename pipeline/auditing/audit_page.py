"""audit.md: the audit's figures as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.auditing.judge_agreement import Row as Counted

Row = Sequence[object]


def markdown(report: dict[str, Any], limits: dict[str, float]) -> tuple[str, str]:
    """The whole text, and the table of attackers alone (for the card)."""
    ours, theirs = report["subsets"], report["paper_rules"]
    attackers = _attack_table(ours, limits)
    parts = ["# Audit", *[f"> **Warning.** {line}" for line in report["warnings"]]]
    if any(subset.simulated for subset in ours.values()):
        parts.append("The verdicts behind these items are **simulated**.")
    if any(subset.rehearsal for subset in ours.values()):
        parts.append(
            "This is a **rehearsal**: the truth that they were simulated from is none, but incomplete graphs taken as complete."
        )
    parts += ["## What a model can tell without seeing everything", attackers, _EXPLAINED]
    if theirs:
        parts += ["## The paper's rules on the same data", _attack_table(theirs, {}), _PAPER]
    parts += [
        "## Margins",
        _margins(ours),
        "0 everywhere means that neither a text nor a picture alone leans to a label.",
    ]
    if theirs:
        parts += ["The same under the paper's rules:", _margins(theirs)]
    parts += [
        "## CLIP scores of AQ and UQ",
        _clip(ours),
        "Overlap of the normalised histograms and mean(AQ) - mean(UQ), as in RGQA's Fig. 3.",
    ]
    parts += [
        "## Kinds of unanswerable questions",
        _counts(ours, "categories"),
        "## Edits",
        _counts(ours, "edit_kinds"),
    ]
    parts += ["## What differences the release resolves", _resolution(ours)]
    if report["screen_against_truth"]:
        parts += ["## Screening against the complete truth", _screening(report["screen_against_truth"])]
    for evidence, rows in report["judge_against_source"].rows.items():
        parts += [f"## The judge against the source, by {evidence}", agreement_table(rows), AGREEMENT]
    parts += ["Yields per stage are in `audit.json` under `yield`."]
    return "\n\n".join(parts) + "\n", attackers


_EXPLAINED = (
    "max(AUROC, 1 - AUROC) out of fold [95 % interval over resampled groups]; folds are grouped by text (an edited question "
    "and its original count as one text), for picture and CLIP score by picture. 0.5 is chance; because of the maximum, chance "
    "itself shows a little above 0.5."
)
_PAPER = (
    "Rules of RGQA (ICCV 2023, section 3.1): no cap on how often a question is used, the very last for CLIP-Easy (50 in the paper), blind "
    "perturbation, CLIP subsets paired with any AQ of the same picture. Judged by the same simulated annotators."
)


def _table(head: Row, rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _attack_table(subsets: dict[str, Any], limits: dict[str, float]) -> str:
    names = list(next(iter(subsets.values())).attacks) if subsets else []
    rows = [
        [
            f"`{name}`",
            f"{s.uqs} + {s.aqs}",
            *[_attack(s.attacks[a]) for a in names],
            *([f"{limits[name]:.2f}"] if name in limits else []),
        ]
        for name, s in subsets.items()
    ]
    return _table(["subset", "UQ + AQ", *names, *(["limit on text"] if limits else [])], rows)


def _attack(attack: Any) -> str:
    return "-" if attack.auroc is None else f"{attack.auroc:.2f} [{attack.low:.2f}, {attack.high:.2f}]"


def _margins(subsets: dict[str, Any]) -> str:
    rows = [
        [
            f"`{name}`",
            s.text_margin.largest,
            s.text_margin.unequal,
            s.picture_margin.largest,
            s.picture_margin.unequal,
            f"{s.text_margin.distinct_per_uq:.2f}",
        ]
        for name, s in subsets.items()
    ]
    return _table(
        [
            "subset",
            "largest UQ - AQ of a text",
            "texts unequal",
            "largest UQ - AQ of a picture",
            "pictures unequal",
            "distinct texts per UQ",
        ],
        rows,
    )


def _clip(subsets: dict[str, Any]) -> str:
    rows = [
        [f"`{n}`", *("-" if v is None else f"{v:.3f}" for v in (s.clip_overlap, s.clip_distance))]
        for n, s in subsets.items()
    ]
    return _table(["subset", "overlap area", "distance of means"], rows)


def _counts(subsets: dict[str, Any], field: str) -> str:
    names = sorted({key for s in subsets.values() for key in getattr(s, field)})
    return _table(
        ["subset", *names],
        [[f"`{n}`", *(getattr(s, field).get(key, 0) for key in names)] for n, s in subsets.items()],
    )


def _resolution(subsets: dict[str, Any]) -> str:
    rows = [[f"`{n}`", f"{s.smallest_auaf_difference:.3f}"] for n, s in subsets.items()]
    return _table(
        ["subset", "smallest AUAF difference of two models shown with 80 % power (pictures resampled)"], rows
    )


AGREEMENT = (
    "Every answered question is judged at its own picture, where it has the source's answer, and at others drawn by lot. A partial "
    "graph is put together without the facts of the question itself and of those that it entails, that entail it or that equal it. "
    '`dared`: a verdict was given that says something ("Is there a cup?" has an answer at any picture). `right`: judged answerable, and '
    "if an answer was given, with the source's. `precision` and `recall` of unanswerable and answerable are over both, where the "
    "truth of the others is known; recall of answerable alone is known everywhere."
)


def agreement_table(rows: dict[str, Counted]) -> str:
    """How often the judge agrees with the source, a row for every kind of question."""
    head = [
        "questions",
        "own",
        "dared",
        "right",
        "answers",
        "right",
        "at others",
        "judged unanswerable",
        "answerable",
        "right",
        "precision unans.",
        "recall unans.",
        "precision ans.",
        "recall ans.",
    ]
    table = [
        [
            name,
            f"{r.own:,}",
            _of(r.own_judged, r.own),
            _of(r.own_right, r.own_judged),
            r.answers,
            _of(r.answers_right, r.answers),
            f"{r.foreign:,}",
            _of(r.judged_unanswerable, r.foreign),
            _of(r.judged_answerable, r.foreign),
            "-" if r.foreign_right is None else _of(r.foreign_right, r.foreign_known),
            *(
                _percent(by[what])
                for what in ("unanswerable", "answerable")
                for by in (r.precision, r.recall)
            ),
        ]
        for name, r in rows.items()
    ]
    return _table(head, table)


def _of(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.1f} %)" if whole else f"{part:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _screening(found: dict[str, Any]) -> str:
    rows = [
        [
            f"`{name}`",
            *(
                "-" if (value := getattr(s, key)) is None else f"{value:.3f}"
                for key in ("precision", "recall", "false_drop_rate")
            ),
        ]
        for name, s in sorted(found.items())
    ]
    return _table(["subset", "precision of kept", "recall of unanswerable", "false drops"], rows)
