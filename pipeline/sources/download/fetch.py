"""The command `rgqa fetch gqa`: download the files that stage `ingest` reads into data/<data set>/source.

The parameters of stage `ingest` determine which questions and scene graphs are downloaded. The downloaded
images are those of the questions in the chosen split. First all files are listed and compared with existing
files and earlier downloads, and the disk space is checked. Then missing files are downloaded. Intact files
stay.
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
    """Options of the command line.

    Attributes:
        dataset: Name of the data set.
        split: Split of the images; None for the split in params.yaml.
        origin: `official`, `hub`, or the URL or folder of a copy of the archives. A folder may also contain
            the Parquet folders of the Hub.
        archives_from: URL or folder of the archives, if the archives are not at `origin`; None otherwise.
        jobs: Maximum number of simultaneous requests.
        dry_run: Only print what would be downloaded.
        full_archives: Download complete archives instead of the needed members.
        cache_dir: Folder in which downloads are kept for later runs; None to delete downloads after use.
        offline: Use only the cache, without a network.
        answer_choices: Download the answer choices of GQA's evaluation, too.
        accept_changes: Accept remote files that changed since they were first seen.
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
    """Download the files of GQA that a data set needs, and print a summary.

    Args:
        what: What to download. The only valid value is "gqa".
        options: Options of the command line.
        retry_policy: How often requests are repeated, and how long to wait for servers.

    Raises:
        UserError: Lists all problems.
    """
    if what != "gqa":
        raise UserError(
            f"{what!r}: only gqa can be downloaded; docs/guides/download_data.md describes other sources"
        )
    if options.split not in (None, *GQA_SPLITS):
        raise UserError(f"--split {options.split}: expected one of {', '.join(GQA_SPLITS)}")
    wanted, folders = resolve_ingest_params(options.dataset, options.split), DatasetFolders(options.dataset)
    if options.offline and options.cache_dir is None:
        raise UserError("--offline needs a cache; give its folder with --cache-dir")
    start, cache = time.monotonic(), options.cache_dir or folders.root / "fetching"
    is_new_cache = not cache.exists()
    keep_cache = options.cache_dir is not None
    with closing(HttpClient(cache, retry_policy, keep_cache, options.offline, options.jobs)) as client:
        try:
            job = _FetchJob(folders.source, client, wanted, options)
            print(f"fetch: GQA for {folders.root}, images of {wanted.split}, from {job.address}")
            job.run()
        except ServerUnreachableError as error:
            raise UserError(
                [*error.problems, "finished downloads are kept; run the same command again to resume"]
            ) from error
        if not keep_cache and (is_new_cache or not options.dry_run):
            shutil.rmtree(cache, ignore_errors=True)
    if not options.dry_run:
        print(
            f"fetch: {format_count(len(job.manifest.files), 'file')} in {folders.source}, {decimal(client.bytes_received)} downloaded in "
            f"{time.monotonic() - start:,.0f} s. Set `dataset: {options.dataset}` in {PARAMS_FILE}"
            + (f" and `split: {wanted.split}` in its section `ingest`" if options.split else "")
            + ", and run dvc repro"
        )


class _FetchJob:
    """A download with its sources, manifest and problems."""

    def __init__(self, source: Path, client: HttpClient, wanted: IngestParams, options: FetchOptions) -> None:
        self.source, self.client, self.wanted, self.options = source, client, wanted, options
        origin = Path(options.origin)
        is_known_origin = options.origin in ("official", "hub")
        archives = options.archives_from or (OFFICIAL_URL if is_known_origin else options.origin)
        self.official = OfficialArchives(client, archives, options.full_archives)
        self.hub = HubMirror(client) if options.origin == "hub" else None
        if (origin / f"{wanted.split}_{wanted.question_set}_instructions").is_dir():
            self.hub = HubMirror(client, origin)
        self.address = (self.hub or self.official).address
        self.manifest = Manifest(source)
        self.problems = Problems(str(source))
        # Accepted changes are recorded in the manifest when everything is finished.
        self.accepted_changes: dict[str, RemoteFingerprint] = {}

    def run(self) -> None:
        """Download missing files, or print them in a dry run."""
        dry = self.options.dry_run
        # In this case no request is sent. The sizes are those that the authors state.
        if dry and self.options.full_archives:
            archives = (
                [SCENE_GRAPHS_ARCHIVE]
                if self.hub
                else [QUESTIONS_ARCHIVE, SCENE_GRAPHS_ARCHIVE, IMAGES_ARCHIVE]
            )
            for name in [*archives, CHOICES_ARCHIVE] if self.options.answer_choices else archives:
                print(f"  {name}: complete archive, {STATED_SIZES[name]} according to its authors")
            return
        texts = self._list_text_files()
        question_files = [
            file.path for file in texts if file.path.startswith(f"questions1.2/{self.wanted.split}_")
        ]
        missing = self._select_missing(texts)
        images_unknown = any(file.path in question_files for file in missing)
        if images_unknown and not dry:
            # The questions must be downloaded first, because they determine the images.
            self._download(missing)
            missing, images_unknown = [], False
        ids = None if images_unknown else list_image_ids(self.source, question_files, self.problems)
        images = self._select_missing(self._list_images(ids))
        if dry:
            self.problems.raise_if_any()
            self._print_plan(missing, images, ids)
        else:
            self._download(missing + images)
            self.manifest.remotes.update(self.accepted_changes)
            self.manifest.save()

    def _list_text_files(self) -> list[WantedFile]:
        """Return all files except images."""
        questions_from, wanted = self.hub or self.official, self.wanted
        listings = [
            partial(questions_from.list_questions, split, wanted.question_set)
            for split in wanted.resolve_question_splits()
        ]
        # `resolve_ingest_params` names them.
        graph_splits = () if isinstance(wanted.graph_splits, str) else wanted.graph_splits
        listings += [partial(self.official.list_scene_graphs, split) for split in graph_splits]
        if self.options.answer_choices:
            listings.append(partial(self.official.list_choices, wanted.split))
        texts = [file for listing in listings for file in self._run_listing(listing)]
        self._check_remote_changes()
        self.problems.raise_if_any()
        return texts

    def _list_images(self, ids: list[str] | None) -> list[WantedFile]:
        """Return the image files.

        Args:
            ids: Ids of the images. None if the ids are unknown, because the questions are not downloaded yet.
                Then one file represents all images of the Hub, and the official archive yields no files.
        """
        listing = partial(self.official.list_images, ids or [])
        if self.hub:
            listing = partial(self.hub.list_images, self.wanted.split, self.wanted.question_set, ids or [""])
        images = self._run_listing(listing)
        self._check_remote_changes()
        return images

    def _run_listing(self, listing: Callable[[], list[WantedFile]]) -> list[WantedFile]:
        """Return the list of files that `listing` makes.

        Problems are collected, and the list is then empty. If a server is unreachable, the error is raised.
        """
        try:
            return listing()
        except ServerUnreachableError:
            raise
        except UserError as error:
            self.problems.lines += [line for line in error.problems if line not in self.problems.lines]
            return []

    def _check_remote_changes(self) -> None:
        """Collect a problem for each remote file that changed since it was first seen."""
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
                    f"{reason}; nothing was downloaded from it; use --accept-changes if the change is expected",
                )

    def _select_missing(self, files: list[WantedFile]) -> list[WantedFile]:
        """Return the files that must be downloaded."""
        tracked = track(files, "fetch: existing files", unit="file")
        return [file for file in tracked if self._is_missing(file)]

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
            print(f"  {wanted.path}: changed since its download; downloading it again")
        # Images of the Hub are compared when they are written (`_write_image`).
        elif not seen and not (wanted.crc32 is None and is_image_path(wanted.path)):
            self.problems.add(
                wanted.path,
                f"already exists and differs from {wanted.origin} ({path.stat().st_size:,} bytes, expected {wanted.disk_bytes:,}); "
                "move it away and run the same command again",
            )
        return True

    def _download(self, files: list[WantedFile]) -> None:
        """Create the files, if there are no problems and the disk space suffices.

        The disk space must suffice for the files and for the downloads that wait to be unpacked.
        """
        self.problems.raise_if_any()
        members = [file for file in files if file.origin in STATED_SIZES]
        parquet = [file for file in files if file.origin not in STATED_SIZES]
        # Parquet files stay until the end, so that the next run can use them if this process is killed.
        sizes = sorted(file.download_bytes for file in members)
        waiting = sizes if self.client.keep_cache else sizes[-self.client.max_connections :]
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
        """Print what is missing.

        Args:
            texts: Missing files of questions and graphs.
            images: Missing images.
            ids: Ids of all images; None if the questions that determine the images are not downloaded yet.
        """
        for file in texts:
            about = "" if file.origin in STATED_SIZES else "about "
            print(
                f"  {file.path}: {decimal(file.download_bytes)} from {file.origin}, {about}{decimal(file.disk_bytes)} on disk"
            )
        split, note = self.wanted.split, ""
        download_bytes = sum(file.download_bytes for file in images)
        if images:
            count = f"{len(images):,} of {len(ids):,} images" if ids else f"images of {split}"
            print(f"  images/: {count}, {decimal(download_bytes)} from {images[0].origin}")
        elif ids is None:
            note, mean = " and the images", self.official.get_archive(IMAGES_ARCHIVE).mean_member_bytes
            about = f"{NUM_TESTDEV_IMAGES} images, about {decimal(NUM_TESTDEV_IMAGES * mean)}"
            print(
                f"  images/: {about if split == 'testdev' else 'images'} from {IMAGES_ARCHIVE} ({decimal(mean)} each on "
                "average); their number is known when the questions are downloaded"
            )
        elif not texts:
            print("  nothing is missing")
        download_bytes += sum(file.download_bytes for file in texts)
        size = sum(file.disk_bytes for file in [*texts, *images])
        print(
            f"fetch: dry run, nothing downloaded; download: {decimal(download_bytes)}{note}; on disk: {decimal(size)}{note}"
        )
