"""What a dry run says: every file that would be fetched, and how much that is."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.sources.fetching.addresses import CHOICES, PICTURES, STATED, TESTDEV_PICTURES
from pipeline.sources.fetching.official_archives import Item
from pipeline.sources.fetching.opening import spoken


def tell(
    texts: list[Item],
    pictures: list[Item],
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
    for item in texts:
        about = "" if item.origin in STATED else "about "
        say(f"  {item.path}: {spoken(item.receive)} from {item.origin}, {about}{spoken(item.size)} on disk")
    note = ""
    if pictures:
        count = f"{len(pictures):,} of {len(ids):,}" if ids else f"of {split}"
        say(
            f"  images/: pictures {count}, {spoken(sum(item.receive for item in pictures))} from {pictures[0].origin}"
        )
    elif ids is None:
        note = " and the pictures"
        count = TESTDEV_PICTURES if split == "testdev" else None
        about = f"{count:,} pictures, about {spoken(count * mean)}" if count else "pictures"
        say(
            f"  images/: {about} from {PICTURES} ({spoken(mean)} each on average); counted once the questions are there"
        )
    elif not texts:
        say("  everything is there")
    received, size = (sum(getattr(item, name) for item in texts + pictures) for name in ("receive", "size"))
    say(f"fetch: nothing done (dry run); to receive: {spoken(received)}{note}; on disk: {spoken(size)}{note}")


def tell_whole(archives: list[str], choices: bool, say: Callable[[str], None]) -> None:
    """What fetching archives whole takes; no server is asked."""
    for name in [*archives, CHOICES] if choices else archives:
        say(f"  {name}: all of it, {STATED[name]} as its authors state")
