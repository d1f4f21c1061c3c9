"""Rounds of annotation: the candidates that are verified in one round become gold questions of the next
round.

Only `rgqa annotate end-round` ends a round. Stage `batch` depends on `rounds/` and not on the verdicts that
`rgqa annotate pull` fetches, so a pull does not change the tasks.

Files   data/<data set>/rounds/N.jsonl   CollectedCandidate: `verified.jsonl` and `drafted.jsonl` of stage `collect` at the end of
                                         round N
"""

from __future__ import annotations

import re
from pathlib import Path

from annotation.study.exports import PULLED_FILENAME, read_verdicts
from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import read_json, read_jsonl, write_jsonl
from pipeline.core.jsonl_index import UniqueIndex
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import CollectedCandidate, Task, Verdict

# Earlier versions of the project stored the rounds in this file in annotations/.
LEGACY_FILENAME = "known.jsonl"


def find_round_files(folders: DatasetFolders) -> dict[int, Path]:
    """Return the files of the rounds that have ended, by number, in ascending order.

    Raises:
        UserError: The folder contains a JSON Lines file with another name, or a file of an earlier version of
            the project exists.
    """
    problems, files = Problems(str(folders.rounds)), dict[int, Path]()
    for path in sorted(folders.rounds.glob("*.jsonl")):
        if re.fullmatch(r"[1-9][0-9]{0,3}", path.stem):
            files[int(path.stem)] = path
        else:
            problems.add(path.name, "not the file of a round. Name the files 1.jsonl, 2.jsonl and so on")
    legacy = folders.annotations / LEGACY_FILENAME
    if legacy.exists():
        problems.add(str(legacy), f"this file is no longer read. Move it to {folders.rounds}/1.jsonl")
    problems.raise_if_any()
    return dict(sorted(files.items()))


def read_rounds(folders: DatasetFolders) -> list[CollectedCandidate]:
    """Return the verified candidates of all rounds, sorted by id.

    For a candidate in several rounds, the last round counts.
    """
    rows = (
        row for path in find_round_files(folders).values() for row in read_jsonl(path, CollectedCandidate)
    )
    last = {row.candidate.candidate_id: row for row in rows}
    return [last[key] for key in sorted(last)]


def count_waiting_verdicts(folders: DatasetFolders) -> int:
    """Count the verdicts that differ between pulled.json and the output of stage `collect`: new, corrected
    and deleted ones.
    """
    tasks = UniqueIndex(folders.record_file(Task), Task, "task_id")
    pulled, _ = read_verdicts(folders.annotations / PULLED_FILENAME, tasks)
    path = folders.record_file(Verdict)
    old = {row.verdict_id: row for row in read_jsonl(path, Verdict)} if path.exists() else {}
    new = {row.verdict_id: row for row in pulled}
    return sum(old.get(key) != new.get(key) for key in old.keys() | new.keys())


def end_round(folders: DatasetFolders) -> tuple[int, int]:
    """End the round: store the candidates that stage `collect` verified, for the tasks of the next round.

    Questions that a model drafted, and that annotators decided, are among them. They get no task in the next round.

    Returns:
        The number of the round, and the number of verified candidates.

    Raises:
        UserError: Stage `collect` has not run on the pulled verdicts, the verdicts are simulated, or no
            candidate was verified since the last round.
    """
    if any(row.simulated for row in folders.read_records(Verdict)):
        raise UserError(
            f"the verdicts are simulated: {folders.record_file(Verdict)}. A round ends with verdicts of human annotators: set "
            f"{folders.dataset}.collect.simulate: false in params.yaml and run dvc repro collect"
        )
    if waiting := count_waiting_verdicts(folders):
        raise UserError(
            f"{format_count(waiting, 'verdict is', 'verdicts are')} new or changed since stage collect ran: {folders.record_file(Verdict)}. Run dvc repro collect first"
        )
    drafted = folders.stage_dir("collect") / "drafted.jsonl"
    verified = [
        row
        for row in (
            *folders.read_records(CollectedCandidate),
            *(read_jsonl(drafted, CollectedCandidate) if drafted.exists() else ()),
        )
        if row.status in ("answerable", "unanswerable")
    ]
    if not verified:
        raise UserError(
            f"no candidate is verified yet: {folders.record_file(CollectedCandidate)}. Collect more verdicts before you end the round"
        )
    number = max(find_round_files(folders), default=0) + 1
    if number > 1 and verified == [*read_jsonl(folders.rounds / f"{number - 1}.jsonl", CollectedCandidate)]:
        raise UserError(
            f"nothing was verified since the last round: {folders.rounds}/{number - 1}.jsonl. Collect more verdicts before you end the round"
        )
    write_jsonl(folders.rounds / f"{number}.jsonl", verified)
    return number, len(verified)


def end_and_print_round() -> None:
    """End the round and print the next step, for `rgqa annotate end-round`."""
    folders = DatasetFolders()
    # Misplaced files are reported before a missing output of stage `collect`.
    find_round_files(folders)
    read_json(folders.stage_dir("collect") / "collect.json")
    number, count = end_round(folders)
    print(
        f"end-round: round {number} has {format_count(count, 'verified candidate')} -> {folders.rounds}/{number}.jsonl"
    )
    print(
        "end-round: Next, run `dvc repro batch`, which makes the tasks of the next round with these candidates among the gold questions, "
        "then rgqa annotate push. Answers to tasks that are not in the new batch stay in pulled.json but do not count"
    )
