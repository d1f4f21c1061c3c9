"""`rgqa fetch gqa`: put into data/<data set>/source exactly what `ingest` reads there.

The parameters of the data set (params.yaml, section `ingest`) say which questions and scene graphs that are; the
images are those that the questions of the chosen split name. First all is listed, compared with what is there and
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

from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.params import PARAMS_FILE
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import Record, Split
from pipeline.sources.download.byte_ranges import check_disk_space
from pipeline.sources.download.http_client import (
    DEFAULT_RETRY_POLICY,
    HttpClient,
    RetryPolicy,
    ServerUnreachableError,
)
from pipeline.sources.download.hub_mirror import HubMirror, is_image_path, with_png_suffix
from pipeline.sources.download.manifest import (
    GQA_SPLITS,
    Manifest,
    RemoteFingerprint,
    WantedFile,
    list_image_ids,
    resolve_ingest_params,
)
from pipeline.sources.download.official_archives import (
    CHOICES_ARCHIVE,
    IMAGES_ARCHIVE,
    OFFICIAL_URL,
    QUESTIONS_ARCHIVE,
    SCENE_GRAPHS_ARCHIVE,
    STATED_SIZES,
    OfficialArchives,
)
from pipeline.sources.large_json import map_file
from pipeline.sources.source_folder import IngestParams

NUM_TESTDEV_IMAGES = 398


class FetchOptions(Record):
    """What is asked for.

    Attributes:
        data_set: name of its folder in data/ and of its section in params.yaml.
        split: whose images; None for the one that params.yaml names.
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

    dataset: str = "gqa"
    split: Split | None = None
    origin: str = "official"
    archives_from: str | None = None
    jobs: int = 8
    dry_run: bool = False
    full_archives: bool = False
    cache_dir: Path | None = None
    offline: bool = False
    answer_choices: bool = False
    accept_changes: bool = False


def fetch(what: str, options: FetchOptions, retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY) -> None:
    """Fetch what a data set needs of GQA, and say what was done.

    Raises:
        UserError: everything that is wrong, at once.
    """
    if what != "gqa":
        raise UserError(f"{what!r}: only gqa can be fetched; docs/guides/download_data.md says how other sources are read")
    if options.split not in (None, *GQA_SPLITS):
        raise UserError(f"--split {options.split}: expected one of {', '.join(GQA_SPLITS)}")
    wanted, folders = resolve_ingest_params(options.dataset, options.split), DatasetFolders(options.dataset)
    if options.offline and options.cache_dir is None:
        raise UserError("--offline takes all from a cache; name it with --cache-dir")
    begun, cache = time.monotonic(), options.cache_dir or folders.root / "fetching"
    fresh = not cache.exists()
    keep = options.cache_dir is not None
    with closing(HttpClient(cache, retry_policy, keep, options.offline, options.jobs)) as web:
        try:
            job = _FetchJob(folders.source, web, wanted, options)
            print(f"fetch: GQA for {folders.root}, images of {wanted.split}, from {job.address}")
            job.run()
        except ServerUnreachableError as error:
            raise UserError(
                [*error.problems, "what was received is kept; run the same command again to go on"]
            ) from error
        if not keep and (fresh or not options.dry_run):
            shutil.rmtree(cache, ignore_errors=True)
    if not options.dry_run:
        print(
            f"fetch: {format_count(len(job.manifest.files), 'file')} in {folders.source}, {decimal(web.bytes_received)} received in "
            f"{time.monotonic() - begun:,.0f} s. Set `dataset: {options.dataset}` in {PARAMS_FILE}"
            + (f" and `split: {wanted.split}` in its section `ingest`" if options.split else "")
            + ", and run dvc repro"
        )


class _FetchJob:
    """One fetch: doors, manifest, and what was found wrong so far."""

    def __init__(self, source: Path, web: HttpClient, wanted: IngestParams, options: FetchOptions) -> None:
        self.source, self.client, self.wanted, self.options = source, web, wanted, options
        origin = Path(options.origin)
        of_authors = options.origin in ("official", "hub")
        archives = options.archives_from or (OFFICIAL_URL if of_authors else options.origin)
        self.official = OfficialArchives(web, archives, options.full_archives)
        self.hub = HubMirror(web) if options.origin == "hub" else None
        if (origin / f"{wanted.split}_{wanted.question_set}_instructions").is_dir():
            self.hub = HubMirror(web, origin)
        self.address = (self.hub or self.official).address
        self.manifest = Manifest(source)
        self.problems = Problems(str(source))
        self.accepted_changes: dict[
            str, RemoteFingerprint
        ] = {}  # put into the manifest when all is done, not before

    def run(self) -> None:
        """Fetch all that is missing; in a dry run, only say what that is."""
        dry = self.options.dry_run
        if dry and self.options.full_archives:  # no server is asked
            archives = (
                [SCENE_GRAPHS_ARCHIVE]
                if self.hub
                else [QUESTIONS_ARCHIVE, SCENE_GRAPHS_ARCHIVE, IMAGES_ARCHIVE]
            )
            for name in [*archives, CHOICES_ARCHIVE] if self.options.answer_choices else archives:
                print(f"  {name}: all of it, {STATED_SIZES[name]} as its authors state")
            return
        texts = self._list_text_files()
        asking = [file.path for file in texts if file.path.startswith(f"questions1.2/{self.wanted.split}_")]
        missing = self._select_missing(texts)
        unknown = any(file.path in asking for file in missing)
        if unknown and not dry:
            self._download(missing)  # what names the images must be there before they are known
            missing, unknown = [], False
        ids = None if unknown else list_image_ids(self.source, asking, self.problems)
        images = self._select_missing(self._list_images(ids))
        if dry:
            self.problems.raise_if_any()
            self._print_plan(missing, images, ids)
        else:
            self._download(missing + images)
            self.manifest.remotes.update(self.accepted_changes)
            self.manifest.save()

    def _list_text_files(self) -> list[WantedFile]:
        """All files but the images."""
        door, wanted = self.hub or self.official, self.wanted
        listings = [
            partial(door.list_questions, split, wanted.question_set) for split in wanted.question_splits
        ]
        listings += [partial(self.official.list_scene_graphs, split) for split in wanted.graph_splits]
        if self.options.answer_choices:
            listings.append(partial(self.official.list_choices, wanted.split))
        texts = [file for listing in listings for file in self._run_listing(listing)]
        self._check_remote_changes()
        self.problems.raise_if_any()
        return texts

    def _list_images(self, ids: list[str] | None) -> list[WantedFile]:
        """Files of these images. As long as nobody knows them, one of the hub's stands for all, and none of the archive's."""
        listing = partial(self.official.list_images, ids or [])
        if self.hub:
            listing = partial(self.hub.list_images, self.wanted.split, self.wanted.question_set, ids or [""])
        images = self._run_listing(listing)
        self._check_remote_changes()
        return images

    def _run_listing(self, listing: Callable[[], list[WantedFile]]) -> list[WantedFile]:
        """The files, or none when what is wrong is noted; an unreachable server ends the search."""
        try:
            return listing()
        except ServerUnreachableError:
            raise
        except UserError as error:
            self.problems.lines += [line for line in error.problems if line not in self.problems.lines]
            return []

    def _check_remote_changes(self) -> None:
        """Note every remote file that is not what was first seen."""
        for name, now in (
            self.official.get_seen_remotes() | (self.hub.get_seen_remotes() if self.hub else {})
        ).items():
            reason = self.manifest.describe_change(name, now)
            self.manifest.remotes.setdefault(name, now)
            if not reason or name in self.accepted_changes:
                continue
            if self.options.accept_changes:
                print(f"  {name}: {reason}; accepted")
                self.accepted_changes[name] = now
            else:
                self.problems.add(
                    name,
                    f"{reason}; if that is meant to be, take the new one with --accept-changes; "
                    "nothing of it was fetched",
                )

    def _select_missing(self, files: list[WantedFile]) -> list[WantedFile]:
        """The files that are to be fetched; what stands in the way of one goes to `problems`."""
        shown = track(files, "fetch: looking at what is there", unit="file")
        return [file for file in shown if self._is_missing(file)]

    def _is_missing(self, wanted: WantedFile) -> bool:
        path, seen = self.source / wanted.path, self.manifest.files.get(wanted.path)
        if self.manifest.is_intact(with_png_suffix(wanted.path)):
            return False
        if not path.exists():
            return True
        intact = self.manifest.is_intact(wanted.path)
        if (
            seen
            and intact
            and not any(f"{name}/".startswith(f"{seen.origin}/") for name in self.accepted_changes)
        ):
            return False
        if 0 < path.stat().st_size == wanted.disk_bytes and zlib.crc32(map_file(path)) == wanted.crc32:
            self.manifest.add_file(wanted.path, wanted.origin)
            return False
        if seen and not intact:
            print(f"  {wanted.path}: is not as it was fetched; fetched again")
        elif not seen and not (
            wanted.crc32 is None and is_image_path(wanted.path)
        ):  # the hub's are compared later
            self.problems.add(
                wanted.path,
                f"is there already and is not what {wanted.origin} has ({path.stat().st_size:,} bytes, expected "
                f"{wanted.disk_bytes:,}); move it away and run the same command again",
            )
        return True

    def _download(self, files: list[WantedFile]) -> None:
        """Make the files, if nothing is wrong and the disk has room for them and for what waits to be unpacked."""
        self.problems.raise_if_any()
        members = [file for file in files if file.origin in STATED_SIZES]
        parquet = [file for file in files if file.origin not in STATED_SIZES]
        # Parquet files stay until all is done, so that a run after a kill finds in them what is missing.
        received = sorted(file.download_bytes for file in members)
        waiting = received if self.client.keep_cache else received[-self.client.max_connections :]
        waiting += [file.download_bytes for file in parquet]
        check_disk_space(
            {self.source: sum(file.disk_bytes for file in files), self.client.cache_dir: sum(waiting)}
        )
        try:
            self.official.fetch(members, self.manifest, self.problems)
            if self.hub:
                self.hub.fetch(parquet, self.manifest, self.problems)
        finally:
            self.manifest.save()
        self.problems.raise_if_any()

    def _print_plan(self, texts: list[WantedFile], images: list[WantedFile], ids: list[str] | None) -> None:
        """Say what is missing; `ids` are the split's images, None when its questions, which name them, are not there yet."""
        for file in texts:
            about = "" if file.origin in STATED_SIZES else "about "
            print(
                f"  {file.path}: {decimal(file.download_bytes)} from {file.origin}, {about}{decimal(file.disk_bytes)} on disk"
            )
        split, note = self.wanted.split, ""
        received = sum(file.download_bytes for file in images)
        if images:
            count = f"{len(images):,} of {len(ids):,}" if ids else f"of {split}"
            print(f"  images/: images {count}, {decimal(received)} from {images[0].origin}")
        elif ids is None:
            note, mean = " and the images", self.official.get_archive(IMAGES_ARCHIVE).mean_member_bytes
            about = f"{NUM_TESTDEV_IMAGES} images, about {decimal(NUM_TESTDEV_IMAGES * mean)}"
            print(
                f"  images/: {about if split == 'testdev' else 'images'} from {IMAGES_ARCHIVE} ({decimal(mean)} each on "
                "average); counted once the questions are there"
            )
        elif not texts:
            print("  everything is there")
        received += sum(file.download_bytes for file in texts)
        size = sum(file.disk_bytes for file in [*texts, *images])
        print(
            f"fetch: nothing done (dry run); to receive: {decimal(received)}{note}; on disk: {decimal(size)}{note}"
        )
