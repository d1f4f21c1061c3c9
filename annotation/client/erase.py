"""`rgqa annotate erase`: delete all that there is of somebody, and prove it by a search.

On the server: account, answers, drafts, places. Here, in every data set that they annotated: what was pulled, the roster,
study/queue.json. What stages and releases made of their answers, and DVC's cache, is named with the commands that clear
it. study/forgotten.json keeps pseudonym and time, so that nobody else ever gets it. Who was broken off runs it again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from mmap import ACCESS_READ, mmap
from pathlib import Path

from annotation.client.credentials import LABEL_STUDIO_DIR, connect
from annotation.client.label_studio import LabelStudioClient
from annotation.client.push import get_project_title
from annotation.client.volunteers import sync_volunteers
from annotation.study.exports import (
    PSEUDONYM_PATTERN,
    PULLED_FILENAME,
    get_identity,
    read_pulled,
    write_pulled,
)
from annotation.study.private_files import write_private
from annotation.study.roster import Annotator, collect_used_pseudonyms, read_erased, read_roster, write_roster
from pipeline.core.errors import UserError, format_count
from pipeline.core.folder_lock import lock_folder
from pipeline.core.json_files import content_hash, read_json, write_json
from pipeline.core.paths import DATA_DIR, DatasetFolders

DVC_CACHE, SQLITE_FILENAME = Path(".dvc/cache"), "label_studio.sqlite3"


def erase_annotator(name: str) -> None:
    """Delete somebody's answers everywhere.

    Args:
        name: the roster's; or the pseudonym of somebody who is in no roster, as their answers were imported.

    Raises:
        UserError: nobody of that name is in the roster, no server answers, or something is left.
    """
    server = connect()
    with lock_folder(DatasetFolders().study):
        sync_volunteers(DatasetFolders(), server)
        roster = {person.name: person for person in read_roster(DatasetFolders())}
        others = collect_used_pseudonyms(DatasetFolders()) - {person.pseudonym for person in roster.values()}
        if name not in roster and name in others and PSEUDONYM_PATTERN.fullmatch(name):
            print(f"forget: {name} is in no roster: what {server.url} has of them, delete there by hand")
            erase_in_studies([(DatasetFolders(), Annotator(name=name, pseudonym=name, email=name))])
            return
    if name not in roster:
        raise UserError(f"not in the roster: {name}; there are {', '.join(roster) or 'none'}")
    email = roster[name].email
    # The one in use comes last: with its roster's entry, a run that was broken off can be run again.
    found = {path.parts[1] for path in DATA_DIR.glob("*/study/roster.json")}
    datasets = sorted(found, key=lambda dataset: (dataset == DatasetFolders().dataset, dataset))
    rosters = [(own, read_roster(own)) for own in map(DatasetFolders, datasets)]
    studies = [(own, person) for own, people in rosters for person in people if person.email == email]
    with ExitStack() as stack:
        for own, _ in studies:
            stack.enter_context(lock_folder(own.study))  # who has read them already does not write them back
        print(f"forget: {name}: deleted on {server.url}: {erase_on_server(server, email, studies)}")
        if not (LABEL_STUDIO_DIR / SQLITE_FILENAME).exists():
            print(f"forget: the database of {server.url} is no file here, and is not among those searched")
        erase_in_studies(studies)


def erase_on_server(
    server: LabelStudioClient, email: str, studies: list[tuple[DatasetFolders, Annotator]]
) -> str:
    """Delete what the server has of somebody; in words, what it was."""
    if server.is_managed:
        return ", ".join(f"{count:,} {what}" for what, count in server.erase_annotator(email).items())
    count = sum(
        server.delete_annotations(server.find_project(get_project_title(own)), email) for own, _ in studies
    )
    known = email.lower() in server.get_user_emails().values()
    account = "delete the account there by hand" if known else f"no account there has {email}"
    return f"{count:,} annotations ({account})"


def erase_in_studies(studies: list[tuple[DatasetFolders, Annotator]]) -> None:
    """Delete somebody's answers in the files of some data sets, tell what was made of them, and search what is left."""
    verdicts = {key for folders, person in studies for key in erase_annotations(folders, person)}
    report_derived(studies, verdicts)
    verify_erased(studies)


def erase_annotations(folders: DatasetFolders, person: Annotator) -> set[str]:
    """Delete somebody's answers and names in the files of a data set, the roster last; return the ids of their verdicts."""
    gone = read_erased(folders) | {person.pseudonym: datetime.now(UTC).isoformat(timespec="seconds")}
    write_json(folders.study / "forgotten.json", gone)
    path = folders.annotations / PULLED_FILENAME
    kept = read_pulled(path)
    # Also versions under another name: pulled before they were in the roster, or after their account was deleted.
    own = {get_identity(key[0], row) for key, row in kept.items() if row.completed_by == person.pseudonym}
    theirs = {key for key, row in kept.items() if get_identity(key[0], row) in own}
    if theirs and theirs == kept.keys():
        path.unlink()
    elif theirs:
        write_pulled(path, {key: row for key, row in kept.items() if key not in theirs})
    print(f"forget: {path}: {format_count(len(theirs), 'answer')} taken out")
    queue, email = folders.study / "queue.json", person.email.lower()
    if queue.exists():
        content = read_json(queue, dict)
        for name in ("people", "left", "excluded"):
            content[name] = {other: kept for other, kept in content[name].items() if other != email}
        write_private(queue, content)
    write_roster(folders, [other for other in read_roster(folders) if other.email != person.email])
    return {content_hash("verdict", task_id, person.pseudonym) for task_id, _ in theirs}


def report_derived(studies: list[tuple[DatasetFolders, Annotator]], verdict_ids: set[str]) -> None:
    """Name what was made of their answers, and the commands that clear it."""
    pseudonyms = [_pseudonym_pattern(person) for _, person in studies]
    marks = [*pseudonyms, *(key.encode() for key in sorted(verdict_ids))]
    places = [
        part for own, _ in studies for part in (own.stage_dir("collect"), DATA_DIR / "release" / own.dataset)
    ]
    made = [path for place in places for path in list_files(place) if contains_any(path, marks)]
    cached = [path for path in list_files(DVC_CACHE) if contains_any(path, pseudonyms)]
    print("".join(f"forget: made of their answers: {path}\n" for path in made), end="")
    if made:
        print("forget: makes these anew without them (older releases: delete the folder): dvc repro")
    if cached:
        print(
            f"forget: DVC's cache holds {format_count(len(cached), 'file')} with such a pseudonym; after dvc repro this clears"
        )
        print("forget: them: dvc gc --workspace --force   (where they were pushed, also with --cloud)")
    if not (made or cached):
        print("forget: 0 files of stages, releases and DVC's cache hold any of their answers")
    print("forget: what was published or copied elsewhere cannot be reached from here")


def verify_erased(studies: list[tuple[DatasetFolders, Annotator]]) -> None:
    """Search all of the server's and the studies' files for their address and name, and the studies for the pseudonym too.

    Raises:
        UserError: lists the files that hold one of them still.
    """
    person = studies[-1][1]
    # "ann@rgqa.local" is no sign of ann inside "joann@rgqa.local", and who is called "email" is no key of a file.
    known = {other.email for folders, _ in studies for other in read_roster(folders)}
    longer = [email.removesuffix(person.email) for email in known if email.endswith(person.email)]
    guard = b"".join(rb"(?<!%b)" % re.escape(start.encode()) for start in sorted(longer) if start)
    words = [guard + re.escape(person.email.encode())]
    words.append(rb'"%b"(?!\s*:)' % re.escape(person.name.encode()))
    places = [(LABEL_STUDIO_DIR, words[:1])]
    for folders, own in studies:
        places += [(part, [*words, _pseudonym_pattern(own)]) for part in (folders.study, folders.annotations)]
    looked = [(path, patterns) for place, patterns in places for path in list_files(place)]
    left = [
        str(path)
        for path, patterns in looked
        if path.name != "forgotten.json" and contains_any(path, patterns)
    ]
    what = f'{person.email}, "{person.name}" or {", ".join(own.pseudonym for _, own in studies)}'
    if left:
        first = f"{len(left)} of {format_count(len(looked), 'file')} hold {what} still; look at them and delete them:"
        raise UserError([first, *left])
    print(f"forget: searched {len(looked)} files: 0 hold {what}")


def list_files(root: Path) -> Iterator[Path]:
    yield from sorted(path for path in root.rglob("*") if path.is_file())


def contains_any(path: Path, patterns: Iterable[bytes]) -> bool:
    """Whether a file's bytes match one of some patterns; it is mapped, not read, as a database may be large."""
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return False
            with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return re.search(b"|".join(patterns), content) is not None
    except FileNotFoundError:  # the server's own files come and go
        return False


def _pseudonym_pattern(person: Annotator) -> bytes:
    """A pseudonym, and not the beginning of a longer one."""
    return re.escape(person.pseudonym.encode()) + rb"(?![0-9a-f])"
