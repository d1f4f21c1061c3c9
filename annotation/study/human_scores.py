"""What people said in the human study, as `rgqa score --human` takes it, and their rates.

Reads   data/<data set>/study/human/drawn.jsonl, exports of Label Studio
Writes  data/<data set>/study/human/judgements/all.json, <subset>.json   {question_id, accepted} for each person's judgement
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from annotation.study.accuracy import wilson
from annotation.study.exports import LabellingScreen, read_latest
from annotation.study.human_study import StudyTask
from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl, write_json
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import SUBSETS, Record

STUDY_SCREEN = LabellingScreen(
    ("judgement",), ("answer", "reject"), (), "Set the project up with study.xml, and judge these tasks again"
)


class GivenJudgement(NamedTuple):
    """A person's last answer to a task."""

    asked: StudyTask
    person: str
    accepted: bool


class HumanJudgement(Record):
    """What `rgqa score --human` takes: was the item judged answerable?"""

    question_id: str
    accepted: bool


def read_judgements(
    paths: Iterable[Path], drawn: Mapping[str, StudyTask]
) -> tuple[list[GivenJudgement], dict[str, int]]:
    """Each person's last answer to each task, sorted, and how many annotations of what kind there were.

    Args:
        drawn: by task.

    Raises:
        UserError: lists the files that are no exports, and answers that are none; or there is none.
    """
    texts = {task: {} for task in drawn}
    latest, counts = read_latest(paths, texts, STUDY_SCREEN, "exports of the human study")
    if not latest:
        raise UserError(
            f"exports of the human study: no judgement of this study in them: {counts or 'nothing'}"
        )
    judgements = [
        GivenJudgement(drawn[task], person, annotation.chosen["judgement"] == "answer")
        for (task, person), annotation in sorted(latest.items())
    ]
    return judgements, counts


def rates(judgements: Iterable[GivenJudgement]) -> pd.DataFrame:
    """Subset -> people, AQs and those accepted, UQs and those rejected."""
    rows = pd.DataFrame(
        {
            "subset": row.asked.subset,
            "people": row.person,
            "aqs": row.asked.answerable,
            "accepted": row.asked.answerable and row.accepted,
            "uqs": not row.asked.answerable,
            "rejected": not row.asked.answerable and not row.accepted,
        }
        for row in judgements
    )
    counts = dict.fromkeys(("aqs", "accepted", "uqs", "rejected"), "sum")
    return rows.groupby("subset").agg({"people": "nunique", **counts})


def score(exports: Sequence[Path]) -> None:
    """Write people's judgements for `rgqa score --human`, and print their rates.

    Raises:
        UserError: nothing was drawn, or the exports are none of this study's.
    """
    home = Folders().study / "human"
    if not (home / "drawn.jsonl").exists():
        raise UserError(f"{home}: no study was drawn; run: rgqa annotate study draw")
    drawn = {row.task: row for row in read_jsonl(home / "drawn.jsonl", StudyTask)}
    judgements, counts = read_judgements(exports, drawn)
    for name in ("all", *SUBSETS):
        path = home / "judgements" / f"{name}.json"
        rows = [
            HumanJudgement(question_id=row.asked.question_id, accepted=row.accepted)
            for row in judgements
            if name in ("all", row.asked.subset)
        ]
        if rows:
            write_json(path, rows)
        else:
            path.unlink(missing_ok=True)
    print(table(rates(judgements)))
    print(f"study: annotations: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}")
    done("study", f"{len(judgements):,} judgements", home / "judgements")
    print(
        f"study: beside a model: rgqa score RELEASE model.json --subset SUBSET --human {home / 'judgements'}/SUBSET.json"
    )


def table(rates: pd.DataFrame) -> str:
    """To print: shares with 95 % Wilson intervals. FPR is the share of UQs accepted."""

    def shares(part: pd.Series, whole: pd.Series) -> list[str]:
        bounds = [wilson(right, total) for right, total in zip(part, whole, strict=True)]
        return [
            f"{share:.1%} [{low:.1%}, {high:.1%}]" if share == share else "undefined"
            for share, (low, high) in zip(part / whole, bounds, strict=True)
        ]

    columns = {
        "people": rates["people"],
        "AQs accepted (TPR)": shares(rates["accepted"], rates["aqs"]),
        "UQs rejected": shares(rates["rejected"], rates["uqs"]),
        "UQs accepted (FPR)": shares(rates["uqs"] - rates["rejected"], rates["uqs"]),
        "accuracy": shares(rates["accepted"] + rates["rejected"], rates["aqs"] + rates["uqs"]),
    }
    return pd.DataFrame(columns, rates.index).reset_index().to_string(index=False)
