"""`rgqa fetch gqa`: put into data/<data set>/source exactly what `ingest` reads there.

The parameters of the data set (params.yaml, section `ingest`) say which questions and scene graphs that are; the
pictures are those that the questions of the chosen split name. First all is listed, compared with what is there and
with what was seen before, and the disk's room is checked; then it is fetched. What is there and right stays.
"""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from rich.filesize import decimal

from pipeline.core.errors import Problems, UserError, counted
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import Record, Split
from pipeline.sources.download.byte_ranges import room
from pipeline.sources.download.http_client import PATIENT, Patience, Unreachable, Web
from pipeline.sources.download.hub_mirror import Hub, as_png, is_picture
from pipeline.sources.download.manifest import SPLITS, Manifest, SeenRemote, WantedFile, named_pictures, needs
from pipeline.sources.download.official_archives import (
    CHOICES,
    GRAPHS,
    OFFICIAL,
    PICTURES,
    QUESTIONS,
    STATED,
    Official,
)
from pipeline.sources.large_json import mapped
from pipeline.sources.source_folder import IngestParams

TESTDEV_PICTURES = 398


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
    split: Split | None = None
    origin: str = "official"
    archives: str | None = None
    jobs: int = 8
    dry_run: bool = False
    all_of_it: bool = False
    cache: Path | None = None
    offline: bool = False
    choices: bool = False
    accept_changed: bool = False


def fetch(what: str, options: FetchOptions, patience: Patience = PATIENT) -> None:
    """Fetch what a data set needs of GQA, and say what was done.

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
    begun, cache = time.monotonic(), options.cache or folders.home / "fetching"
    fresh = not cache.exists()
    keep = options.cache is not None
    with closing(Web(cache, patience, keep, options.offline, options.jobs)) as web:
        try:
            job = _Fetch(folders.source, web, wanted, options)
            print(f"fetch: GQA for {folders.home}, pictures of {wanted.split}, from {job.address}")
            job.run()
        except Unreachable as error:
            raise UserError(
                [*error.problems, "what was received is kept; run the same command again to go on"]
            ) from error
        if not keep and (fresh or not options.dry_run):
            shutil.rmtree(cache, ignore_errors=True)
    if not options.dry_run:
        print(
            f"fetch: {counted(len(job.manifest.files), 'file')} in {folders.source}, {decimal(web.received)} received in "
            f"{time.monotonic() - begun:,.0f} s. Set `dataset: {options.data_set}` in {PARAMS_FILE}"
            + (f" and `split: {wanted.split}` in its section `ingest`" if options.split else "")
            + ", and run dvc repro"
        )


class _Fetch:
    """One fetch: doors, manifest, and what was found wrong so far."""

    def __init__(self, source: Path, web: Web, wanted: IngestParams, options: FetchOptions) -> None:
        self.source, self.web, self.wanted, self.options = source, web, wanted, options
        origin = Path(options.origin)
        of_authors = options.origin in ("official", "hub")
        archives = options.archives or (OFFICIAL if of_authors else options.origin)
        self.official = Official(web, archives, options.all_of_it)
        self.hub = Hub(web) if options.origin == "hub" else None
        if (origin / f"{wanted.split}_{wanted.questions}_instructions").is_dir():
            self.hub = Hub(web, origin)
        self.address = (self.hub or self.official).address
        self.manifest = Manifest(source)
        self.problems = Problems(str(source))
        self.accepted: dict[str, SeenRemote] = {}  # put into the manifest when all is done, not before

    def run(self) -> None:
        """Fetch all that is missing; in a dry run, only say what that is."""
        dry = self.options.dry_run
        if dry and self.options.all_of_it:  # no server is asked
            archives = [GRAPHS] if self.hub else [QUESTIONS, GRAPHS, PICTURES]
            for name in [*archives, CHOICES] if self.options.choices else archives:
                print(f"  {name}: all of it, {STATED[name]} as its authors state")
            return
        texts = self._texts()
        asking = [file.path for file in texts if file.path.startswith(f"questions1.2/{self.wanted.split}_")]
        missing = self._missing(texts)
        unknown = any(file.path in asking for file in missing)
        if unknown and not dry:
            self._get(missing)  # what names the pictures must be there before they are known
            missing, unknown = [], False
        ids = None if unknown else named_pictures(self.source, asking, self.problems)
        pictures = self._missing(self._pictures(ids))
        if dry:
            self.problems.raise_if_any()
            self._tell(missing, pictures, ids)
        else:
            self._get(missing + pictures)
            self.manifest.remotes.update(self.accepted)
            self.manifest.save()

    def _texts(self) -> list[WantedFile]:
        """All files but the pictures."""
        door, wanted = self.hub or self.official, self.wanted
        listings = [partial(door.questions, split, wanted.questions) for split in wanted.question_splits]
        listings += [partial(self.official.graphs, split) for split in wanted.graph_splits]
        if self.options.choices:
            listings.append(partial(self.official.choices, wanted.split))
        texts = [file for listing in listings for file in self._listed(listing)]
        self._compare()
        self.problems.raise_if_any()
        return texts

    def _pictures(self, ids: list[str] | None) -> list[WantedFile]:
        """Files of these pictures. As long as nobody knows them, one of the hub's stands for all, and none of the archive's."""
        listing = partial(self.official.pictures, ids or [])
        if self.hub:
            listing = partial(self.hub.pictures, self.wanted.split, self.wanted.questions, ids or [""])
        pictures = self._listed(listing)
        self._compare()
        return pictures

    def _listed(self, listing: Callable[[], list[WantedFile]]) -> list[WantedFile]:
        """The files, or none when what is wrong is noted; an unreachable server ends the search."""
        try:
            return listing()
        except Unreachable:
            raise
        except UserError as error:
            self.problems.lines += [line for line in error.problems if line not in self.problems.lines]
            return []

    def _compare(self) -> None:
        """Note every remote file that is not what was first seen."""
        for name, now in (self.official.remotes() | (self.hub.remotes() if self.hub else {})).items():
            reason = self.manifest.changed(name, now)
            self.manifest.remotes.setdefault(name, now)
            if not reason or name in self.accepted:
                continue
            if self.options.accept_changed:
                print(f"  {name}: {reason}; accepted")
                self.accepted[name] = now
            else:
                self.problems.add(
                    name,
                    f"{reason}; if that is meant to be, take the new one with --accept-changed; "
                    "nothing of it was fetched",
                )

    def _missing(self, files: list[WantedFile]) -> list[WantedFile]:
        """The files that are to be fetched; what stands in the way of one goes to `problems`."""
        shown = track(files, "fetch: looking at what is there", unit="file")
        return [file for file in shown if self._is_missing(file)]

    def _is_missing(self, wanted: WantedFile) -> bool:
        path, seen = self.source / wanted.path, self.manifest.files.get(wanted.path)
        if self.manifest.intact(as_png(wanted.path)):
            return False
        if not path.exists():
            return True
        intact = self.manifest.intact(wanted.path)
        if seen and intact and not any(f"{name}/".startswith(f"{seen.origin}/") for name in self.accepted):
            return False
        if 0 < path.stat().st_size == wanted.size and zlib.crc32(mapped(path)) == wanted.crc:
            self.manifest.note(wanted.path, wanted.origin)
            return False
        if seen and not intact:
            print(f"  {wanted.path}: is not as it was fetched; fetched again")
        elif not seen and not (
            wanted.crc is None and is_picture(wanted.path)
        ):  # the hub's are compared later
            self.problems.add(
                wanted.path,
                f"is there already and is not what {wanted.origin} has ({path.stat().st_size:,} bytes, expected "
                f"{wanted.size:,}); move it away and run the same command again",
            )
        return True

    def _get(self, files: list[WantedFile]) -> None:
        """Make the files, if nothing is wrong and the disk has room for them and for what waits to be unpacked."""
        self.problems.raise_if_any()
        members = [file for file in files if file.origin in STATED]
        parquet = [file for file in files if file.origin not in STATED]
        # Parquet files stay until all is done, so that a run after a kill finds in them what is missing.
        received = sorted(file.receive for file in members)
        waiting = received if self.web.keep else received[-self.web.jobs :]
        waiting += [file.receive for file in parquet]
        room({self.source: sum(file.size for file in files), self.web.cache: sum(waiting)})
        try:
            self.official.fetch(members, self.manifest, self.problems)
            if self.hub:
                self.hub.fetch(parquet, self.manifest, self.problems)
        finally:
            self.manifest.save()
        self.problems.raise_if_any()

    def _tell(self, texts: list[WantedFile], pictures: list[WantedFile], ids: list[str] | None) -> None:
        """Say what is missing; `ids` are the split's pictures, None when its questions, which name them, are not there yet."""
        for file in texts:
            about = "" if file.origin in STATED else "about "
            print(
                f"  {file.path}: {decimal(file.receive)} from {file.origin}, {about}{decimal(file.size)} on disk"
            )
        split, note = self.wanted.split, ""
        received = sum(file.receive for file in pictures)
        if pictures:
            count = f"{len(pictures):,} of {len(ids):,}" if ids else f"of {split}"
            print(f"  images/: pictures {count}, {decimal(received)} from {pictures[0].origin}")
        elif ids is None:
            note, mean = " and the pictures", self.official.archive(PICTURES).mean
            about = f"{TESTDEV_PICTURES} pictures, about {decimal(TESTDEV_PICTURES * mean)}"
            print(
                f"  images/: {about if split == 'testdev' else 'pictures'} from {PICTURES} ({decimal(mean)} each on "
                "average); counted once the questions are there"
            )
        elif not texts:
            print("  everything is there")
        received += sum(file.receive for file in texts)
        size = sum(file.size for file in [*texts, *pictures])
        print(
            f"fetch: nothing done (dry run); to receive: {decimal(received)}{note}; on disk: {decimal(size)}{note}"
        )
