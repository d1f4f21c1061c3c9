"""`rgqa fetch gqa`: put into data/<data set>/source exactly what `ingest` reads there.

The parameters of the data set (params.yaml, section `ingest`) say which questions and scene graphs that are; the
pictures are those that the questions of the chosen split name. First all is listed, compared with what is there and
with what was seen before, and the disk's room is checked; then it is fetched. What is there and right stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pipeline.core.errors import Problems, UserError
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Record
from pipeline.sources.fetching.addresses import (
    GRAPHS,
    OFFICIAL,
    PICTURES,
    QUESTIONS,
    SPLITS,
    checked,
    is_web,
)
from pipeline.sources.fetching.byte_ranges import Store
from pipeline.sources.fetching.disk_space import room, spoken
from pipeline.sources.fetching.dry_run import tell, tell_whole
from pipeline.sources.fetching.hub_copy import Hub, as_png
from pipeline.sources.fetching.manifest import Manifest, SeenRemote
from pipeline.sources.fetching.needed import Needs, named_pictures, needs
from pipeline.sources.fetching.official_archives import Official
from pipeline.sources.fetching.wanted_files import Door, WantedFile
from pipeline.sources.fetching.web_files import PATIENT, Patience, Unreachable, Web

MANY = 1000  # files from which on looking at them shows its progress


class FetchOptions(Record):
    """What is asked for.

    Attributes:
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
    """

    data_set: str = "gqa"
    split: str | None = None
    origin: str = "official"
    archives: str | None = None
    jobs: int = 8
    dry_run: bool = False
    all_of_it: bool = False
    cache: Path | None = None
    offline: bool = False
    choices: bool = False
    accept_changed: bool = False


def fetch(
    what: str, options: FetchOptions, say: Callable[[str], None] = print, patience: Patience = PATIENT
) -> None:
    """Fetch what a data set needs of GQA.

    Raises:
        UserError: everything that is wrong, at once.
    """
    if what != "gqa":
        raise UserError(f"{what!r}: only gqa can be fetched; docs/gqa.md says how other sources are read")
    if options.split not in (None, *SPLITS):
        raise UserError(f"--split {options.split}: expected one of {', '.join(SPLITS)}")
    wanted, folders = needs(options.data_set, options.split), Folders(options.data_set)
    if options.offline and options.cache is None:
        raise UserError("--offline takes all from a cache; name it with --cache")
    begun, web = time.monotonic(), Web(patience)
    store = Store(
        options.cache or folders.home / "fetching",
        web,
        keep=options.cache is not None,
        offline=options.offline,
        all_of_it=options.all_of_it,
        jobs=options.jobs,
    )
    fresh = not store.cache.exists()
    try:
        job = _Fetch(folders.source, store, wanted, options, say)
        say(f"fetch: GQA for {folders.home}, pictures of {wanted.split}, from {job.address}")
        if options.dry_run:
            job.tell()
        else:
            job.fetch()
        if fresh or not options.dry_run:
            store.clear()
    except Unreachable as error:
        raise UserError(
            [*error.problems, "what was received is kept; run the same command again to go on"]
        ) from error
    finally:
        web.close()
    if not options.dry_run:
        say(
            f"fetch: {len(job.manifest.files):,} files in {folders.source}, {spoken(web.received)} received in "
            f"{time.monotonic() - begun:,.0f} s. Set `dataset: {options.data_set}` in {PARAMS_FILE}"
            + (f" and `split: {wanted.split}` in its section `ingest`" if options.split else "")
            + ", and run dvc repro"
        )


class _Fetch:
    """One fetch: doors, manifest, and what was found wrong so far."""

    def __init__(
        self, source: Path, store: Store, wanted: Needs, options: FetchOptions, say: Callable[[str], None]
    ) -> None:
        self.source, self.store, self.wanted, self.options, self.say = source, store, wanted, options, say
        address = options.archives or (OFFICIAL if options.origin in ("official", "hub") else options.origin)
        self.official = Official(store, checked(address))
        self.hub = self._hub()
        self.address = self.hub.address if self.hub else self.official.address
        self.manifest = Manifest(source)
        self.problems = Problems(str(source))
        self.accepted: dict[str, SeenRemote] = {}  # put into the manifest when all is done, not before
        self._asking = f"questions1.2/{wanted.split}_"  # questions that name the pictures

    def _hub(self) -> Hub | None:
        """The hub's door: to the hub itself, or to a folder that has the hub's folders."""
        origin = self.options.origin
        if origin == "hub":
            return Hub(self.store)
        folder = Path(origin) / f"{self.wanted.split}_{self.wanted.which}_instructions"
        return Hub(self.store, Path(origin)) if not is_web(origin) and folder.is_dir() else None

    def fetch(self) -> None:
        """Fetch all that is missing."""
        texts = self._texts()
        missing = self._missing(texts)
        if self._names_pictures(missing):  # they must be there before the pictures are known
            self._get(missing)
            missing = []
        ids = named_pictures(self.source, self._asking, texts, self.problems)
        self._get(missing + self._missing(self._pictures(ids)))
        self.manifest.remotes.update(self.accepted)
        self.manifest.save()

    def tell(self) -> None:
        """Say what would be fetched."""
        if self.options.all_of_it:
            tell_whole(
                [GRAPHS] if self.hub else [QUESTIONS, GRAPHS, PICTURES], self.options.choices, self.say
            )
            return
        texts = self._texts()
        missing = self._missing(texts)
        ids, mean = None, 0
        if not self._names_pictures(missing):
            ids = named_pictures(self.source, self._asking, texts, self.problems)
        elif not self.hub:
            mean = self.official.archive(PICTURES).mean
        # As long as nobody knows the pictures, one of the hub's stands for all of them, and none of the archive's.
        pictures = self._missing(self._pictures(ids or ([""] if self.hub else [])))
        self.problems.raise_if_any()
        tell(missing, pictures, ids, self.wanted.split, mean, self.say)

    def _names_pictures(self, files: list[WantedFile]) -> bool:
        return any(file.path.startswith(self._asking) for file in files)

    def _texts(self) -> list[WantedFile]:
        """All files but the pictures."""
        door: Door = self.hub or self.official
        texts: list[WantedFile] = []
        for split in self.wanted.questions:
            texts += self._listed(lambda split=split: door.questions(split, self.wanted.which))
        for split in self.wanted.graphs:
            texts += self._listed(lambda split=split: self.official.graphs(split))
        if self.options.choices:
            texts += self._listed(lambda: self.official.choices(self.wanted.split))
        self._compare()
        self.problems.raise_if_any()
        return texts

    def _pictures(self, ids: list[str]) -> list[WantedFile]:
        door: Door = self.hub or self.official
        pictures = self._listed(lambda: door.pictures(self.wanted.split, self.wanted.which, ids))
        self._compare()
        return pictures

    def _listed(self, files: Callable[[], list[WantedFile]]) -> list[WantedFile]:
        """The files, or none when the error is noted; an unreachable server ends the search."""
        try:
            return files()
        except Unreachable:
            raise
        except UserError as error:
            self.problems.lines += [line for line in error.problems if line not in self.problems.lines]
            return []

    def _compare(self) -> None:
        """Note every remote file that is not what was first seen."""
        for name, now in (self.official.remotes() | (self.hub.remotes() if self.hub else {})).items():
            self.manifest.remotes.setdefault(name, now)
            reason = "" if name in self.accepted else self.manifest.changed(name, now)
            if reason and self.options.accept_changed:
                self.say(f"  {name}: {reason}; accepted")
                self.accepted[name] = now
            elif reason:
                self.problems.add(
                    name,
                    f"{reason}; if that is meant to be, take the new one with --accept-changed; "
                    "nothing of it was fetched",
                )

    def _missing(self, files: list[WantedFile]) -> list[WantedFile]:
        """The files that are to be fetched; what stands in the way of one goes to `problems`."""
        shown = track(files, "fetch: looking at what is there", unit="file") if len(files) > MANY else files
        return [file for file in shown if self._is_missing(file)]

    def _is_missing(self, wanted: WantedFile) -> bool:
        path, seen = self.source / wanted.path, self.manifest.files.get(wanted.path)
        if self.manifest.intact(as_png(wanted.path)):
            return False
        if not path.exists():
            return True
        intact = seen is not None and self.manifest.intact(wanted.path)
        if seen and intact and not self._replaced(seen.origin):
            return False
        holds = wanted.door.holds(wanted, path)
        if holds:
            self.manifest.note(wanted.path, wanted.origin)
            return False
        if seen and not intact:
            self.say(f"  {wanted.path}: is not as it was fetched; fetched again")
        elif not seen and holds is False:
            self.problems.add(
                wanted.path,
                f"is there already and is not what {wanted.origin} has ({path.stat().st_size:,} bytes, expected "
                f"{wanted.size:,}); move it away and run the same command again",
            )
        return True

    def _replaced(self, origin: str) -> bool:
        """Whether a new version of what an intact file is from was accepted."""
        return any(name == origin or name.startswith(f"{origin}/") for name in self.accepted)

    def _get(self, files: list[WantedFile]) -> None:
        """Make the files, if nothing is wrong and the disk has room for them and for what waits to be unpacked."""
        self.problems.raise_if_any()
        doors: list[Door] = [self.official, self.hub] if self.hub else [self.official]
        shares = [(door, [file for file in files if file.door is door]) for door in doors]
        room(
            {
                self.source: sum(file.size for file in files),
                self.store.cache: sum(door.waiting(share) for door, share in shares),
            }
        )
        try:
            for door, share in shares:
                door.fetch(share, self.source, self.manifest, self.problems)
        finally:
            self.manifest.save()
        self.problems.raise_if_any()
