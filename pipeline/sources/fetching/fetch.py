"""`rgqa fetch gqa`: put into data/<data set>/source exactly what `ingest` reads there.

The parameters of the data set (params.yaml, section `ingest`) say which questions and scene graphs that are; the
pictures are those that the questions of the chosen split name. First all is listed, compared with what is there and
with what was seen before, and the disk's room is checked; then it is fetched. What is there and right stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.core.errors import Problems, UserError
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.sources.fetching.addresses import (
    GRAPHS,
    OFFICIAL,
    PICTURES,
    QUESTIONS,
    SPLITS,
    STATED,
    checked,
    is_web,
)
from pipeline.sources.fetching.dry_run import tell, tell_whole
from pipeline.sources.fetching.hub_copy import Hub, as_png
from pipeline.sources.fetching.manifest import Manifest, SeenRemote
from pipeline.sources.fetching.needed import Needs, named_pictures, needs
from pipeline.sources.fetching.official_archives import Item, Official
from pipeline.sources.fetching.opening import Store, room, spoken
from pipeline.sources.fetching.web_files import PATIENT, Patience, Unreachable, Web
from pipeline.sources.fetching.zip_members import Sums, sums

SAVE_EVERY = 1000  # pictures between two writings of the manifest


def fetch(
    what: str = "gqa",
    *,
    data_set: str = "gqa",
    split: str | None = None,
    origin: str = "official",
    archives: str | None = None,
    jobs: int = 8,
    dry_run: bool = False,
    all_of_it: bool = False,
    cache: Path | None = None,
    offline: bool = False,
    choices: bool = False,
    accept_changed: bool = False,
    patience: Patience = PATIENT,
    say: Callable[[str], None] = print,
) -> None:
    """Fetch what a data set needs of GQA.

    Args:
        data_set: name of its folder in data/ and of its section in params.yaml.
        split: whose pictures; None for the one that params.yaml names.
        origin: `official`, `hub`, or the address (web or folder) of a copy of the archives; a folder may also hold
            the hub's folders of Parquet files.
        archives: address of the archives, where another than the authors' (or `origin`) serves them.
        jobs: requests at the same time.
        dry_run: only say what would be fetched and how much.
        all_of_it: fetch archives whole.
        cache: keep what is received in this folder. With `offline`, take all from there.
        choices: fetch the choices of GQA's evaluation, too.
        accept_changed: take a remote file that changed since it was first seen.

    Raises:
        UserError: everything that is wrong, at once.
    """
    if what != "gqa":
        raise UserError(
            f"{what!r}: only gqa can be fetched; docs/fetching.md says how other sources are read"
        )
    if split not in (None, *SPLITS):
        raise UserError(f"--split {split}: expected one of {', '.join(SPLITS)}")
    wanted = needs(data_set, split)
    folders = Folders(data_set)
    if offline and cache is None:
        raise UserError("--offline takes all from a cache; name it with --cache")
    address = checked(archives or (OFFICIAL if origin in ("official", "hub") else origin))
    begun = time.monotonic()
    web = Web(patience)
    try:
        store = Store(
            cache or folders.home / "fetching",
            web,
            keep=cache is not None,
            offline=offline,
            all_of_it=all_of_it,
            jobs=jobs,
        )
        fresh = not store.cache.exists()
        run = _Run(folders.source, store, wanted, Official(store, address), _hub(store, origin, wanted), say)
        say(
            f"fetch: GQA for {folders.home}, pictures of {wanted.split}, from {run.hub.address if run.hub else address}"
        )
        if dry_run and all_of_it:
            tell_whole([GRAPHS] if run.hub else [QUESTIONS, GRAPHS, PICTURES], choices, say)
            return
        if not run.fetch(dry_run=dry_run, choices=choices, accept_changed=accept_changed):
            if fresh:
                store.clear()
            return
        store.clear()
    except Unreachable as error:
        raise UserError(
            [*error.problems, "what was received is kept; run the same command again to go on"]
        ) from error
    finally:
        web.close()
    say(
        f"fetch: {len(run.manifest.files):,} files in {folders.source}, {spoken(web.received)} received in "
        f"{time.monotonic() - begun:,.0f} s. Set `dataset: {data_set}` in {PARAMS_FILE}"
        + (f" and `split: {wanted.split}` in its section `ingest`" if split else "")
        + ", and run dvc repro"
    )


class _Run:
    """One fetch: doors, manifest, and what was found wrong so far."""

    def __init__(
        self,
        source: Path,
        store: Store,
        wanted: Needs,
        official: Official,
        hub: Hub | None,
        say: Callable[[str], None],
    ) -> None:
        self.source, self.store, self.wanted, self.official, self.hub, self.say = (
            source,
            store,
            wanted,
            official,
            hub,
            say,
        )
        self.manifest = Manifest(source)
        self.problems = Problems(str(source))
        self.accepted: dict[str, SeenRemote] = {}  # put into the manifest when all is done, not before
        self._asking = f"questions1.2/{wanted.split}_"  # questions that name the pictures

    def fetch(self, *, dry_run: bool, choices: bool, accept_changed: bool) -> bool:
        """Fetch all; whether anything was to be done but to tell."""
        texts = self._texts(choices)
        self._compare(accept_changed)
        self.problems.raise_if_any()
        todo = self._missing(texts)
        ready = not any(item.path.startswith(self._asking) for item in todo)
        ids = named_pictures(self.source, self._asking, texts, self.problems) if ready else None
        pictures = self._pictures(ids, accept_changed) if ready or dry_run else []
        missing = self._missing(pictures)
        self.problems.raise_if_any()
        if dry_run:
            hub = self.hub is not None
            mean = 0 if hub or ids is not None else self.official.archive(PICTURES).mean
            tell(todo, missing, ids, self.wanted.split, mean, self.say)
            return False
        self._room(todo)
        for item in todo:
            self._get_text(item)
        self._save_remotes()
        if not ready:
            ids = named_pictures(self.source, self._asking, texts, self.problems)
            missing = self._missing(self._pictures(ids, accept_changed))
            self.problems.raise_if_any()
        self._room(missing)
        self._get_pictures(missing)
        self.problems.raise_if_any()
        self.manifest.remotes.update(self.accepted)
        self._save_remotes()
        return True

    # What there is.

    def _texts(self, choices: bool) -> list[Item]:
        door = self.hub or self.official
        tasks: list[Callable[[], list[Item]]] = []
        for split in self.wanted.questions:
            tasks.append(lambda split=split: door.questions(split, self.wanted.which))
        for split in self.wanted.graphs:
            tasks.append(lambda split=split: self.official.graphs(split))
        if choices:
            tasks.append(lambda: self.official.choices(self.wanted.split))
        found: list[Item] = []
        for task in tasks:
            found += self._collect(task)
        self.problems.raise_if_any()
        return found

    def _collect(self, task: Callable[[], list[Item]]) -> list[Item]:
        """The items, or none when the error is noted; an unreachable server ends the search."""
        try:
            return task()
        except Unreachable:
            raise
        except UserError as error:
            self.problems.lines += [line for line in error.problems if line not in self.problems.lines]
            return []

    def _pictures(self, ids: list[str] | None, accept_changed: bool) -> list[Item]:
        if self.hub:
            hub, known = self.hub, ids or [""]
            items = self._collect(lambda: hub.pictures(self.wanted.split, self.wanted.which, known))
        else:
            items = self._collect(lambda: self.official.pictures(ids or [], self.problems))
        self._compare(accept_changed)
        return items

    # What is there.

    def _compare(self, accept_changed: bool) -> None:
        """Note every remote file that is not what was first seen."""
        for name, now in self._remotes():
            reason = "" if name in self.accepted else self.manifest.changed(name, now)
            if reason and accept_changed:
                self.say(f"  {name}: {reason}; accepted")
                self.accepted[name] = now
            elif reason:
                self.problems.add(
                    name,
                    f"{reason}; if that is meant to be, take the new one with --accept-changed; "
                    "nothing of it was fetched",
                )

    def _remotes(self) -> Iterator[tuple[str, SeenRemote]]:
        yield from self.official.remotes().items()
        if self.hub:
            yield from self.hub.remotes().items()

    def _save_remotes(self) -> None:
        for name, now in self._remotes():
            self.manifest.remotes.setdefault(name, now)
        self.manifest.save()

    def _door(self, item: Item) -> Official | Hub:
        return self.official if item.origin in STATED or self.hub is None else self.hub

    def _missing(self, items: list[Item]) -> list[Item]:
        """The items that are not there yet; what stands in the way of one goes to `problems`."""
        missing = []
        many = len(items) > SAVE_EVERY
        for item in track(items, "fetch: looking at what is there", unit="file") if many else items:
            path = self.source / item.path
            if self.manifest.intact(as_png(item.path)):
                continue
            if not path.exists():
                missing.append(item)
                continue
            found, seen = sums(path), self.manifest.files.get(item.path)
            if self._door(item).holds(item, found):
                self.manifest.add(item.path, found, item.origin)
            elif seen and seen.sha256 == found.sha256:
                if self._replaced(seen.origin):
                    missing.append(item)
            elif seen:
                self.say(f"  {item.path}: is not as it was fetched; fetched again")
                missing.append(item)
            elif isinstance(self._door(item), Hub) and item.key.picture_id:
                missing.append(item)  # compared byte by byte when the Parquet file is there
            else:
                self.problems.add(
                    item.path,
                    f"is there already and is not what {item.origin} has ({found.size:,} bytes, expected "
                    f"{item.size:,}); move it away and run the same command again",
                )
        return missing

    def _replaced(self, origin: str) -> bool:
        """Whether a new version of what an intact file is from was accepted."""
        return any(name == origin or name.startswith(f"{origin}/") for name in self.accepted)

    # Doing it.

    def _room(self, items: list[Item]) -> None:
        """Finished files, and beside them in the cache what has been received but not yet unpacked."""
        waiting = 0
        for door in (self.official, self.hub):
            if door:
                waiting += door.waiting([item for item in items if self._door(item) is door])
        room({self.source: sum(item.size for item in items), self.store.cache: waiting})

    def _get_text(self, item: Item) -> None:
        def record(found: Sums) -> None:
            self.manifest.add(item.path, found, item.origin)
            self._save_remotes()

        door = self._door(item)
        if isinstance(door, Hub):
            door.get(item, self.source, record)
        else:
            record(door.get(item, self.source))

    def _get_pictures(self, items: list[Item]) -> None:
        if not items:
            return
        door = self._door(items[0])
        for path in (path for item in items for path in (item.path, as_png(item.path))):
            if isinstance(door, Hub) and path in self.manifest.files:  # damaged or of an older version
                (self.source / path).unlink(missing_ok=True)
        try:
            for number, (item, found) in enumerate(
                door.get_pictures(items, self.source, self.manifest.save), 1
            ):
                if isinstance(found, str):
                    self.problems.lines.append(found)
                else:
                    self.manifest.add(item.path, found, item.origin)
                if number % SAVE_EVERY == 0:
                    self.manifest.save()
        finally:
            self.manifest.save()


def _hub(store: Store, origin: str, wanted: Needs) -> Hub | None:
    """The hub's door: the hub itself, or a folder that has the hub's folders."""
    if origin == "hub":
        return Hub(store)
    if not is_web(origin) and (Path(origin) / f"{wanted.split}_{wanted.which}_instructions").is_dir():
        return Hub(store, Path(origin))
    return None
