"""What a dry run says: every file that would be fetched, and how much that is."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.sources.fetching.addresses import CHOICES, PICTURES, STATED, TESTDEV_PICTURES
from pipeline.sources.fetching.disk_space import spoken
from pipeline.sources.fetching.wanted_files import WantedFile


def tell(
    texts: list[WantedFile],
    pictures: list[WantedFile],
    ids: list[str] | None,
    split: str,
    mean: int,
    say: Callable[[str], None],
) -> None:
    """List what is missing.

    Args:
        ids: the pictures of the split; None when its questions, which name them, are not there yet.
        mean: mean size in bytes of the archive's pictures, for that case.
    """
    for file in texts:
        about = "" if file.origin in STATED else "about "
        say(f"  {file.path}: {spoken(file.receive)} from {file.origin}, {about}{spoken(file.size)} on disk")
    received = sum(file.receive for file in texts + pictures)
    size = sum(file.size for file in texts + pictures)
    note = ""
    if pictures:
        count = f"{len(pictures):,} of {len(ids):,}" if ids else f"of {split}"
        bytes_received = spoken(sum(file.receive for file in pictures))
        say(f"  images/: pictures {count}, {bytes_received} from {pictures[0].origin}")
    elif ids is None:
        note = " and the pictures"
        count = TESTDEV_PICTURES if split == "testdev" else None
        about = f"{count:,} pictures, about {spoken(count * mean)}" if count else "pictures"
        say(
            f"  images/: {about} from {PICTURES} ({spoken(mean)} each on average); counted once the questions are there"
        )
    elif not texts:
        say("  everything is there")
    say(f"fetch: nothing done (dry run); to receive: {spoken(received)}{note}; on disk: {spoken(size)}{note}")


def tell_whole(archives: list[str], choices: bool, say: Callable[[str], None]) -> None:
    """What fetching archives whole takes; no server is asked."""
    for name in [*archives, CHOICES] if choices else archives:
        say(f"  {name}: all of it, {STATED[name]} as its authors state")
