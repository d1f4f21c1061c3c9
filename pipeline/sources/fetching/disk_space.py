"""Sizes in words, and whether the disk has room."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.core.errors import UserError


def spoken(size: float) -> str:
    """Bytes in words.

    >>> spoken(65_600_000)
    '65.6 MB'
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def room(needed: dict[Path, int]) -> None:
    """Check that folders have room for so many bytes more; folders of one disk are added up.

    Raises:
        UserError: it is not enough; says how much is missing.
    """
    disks: dict[int, tuple[Path, int]] = {}
    for folder, size in needed.items():
        there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        disk = there.stat().st_dev
        disks[disk] = there, disks.get(disk, (there, 0))[1] + size
    short = []
    for there, size in disks.values():
        free = shutil.disk_usage(there).free
        if size > free:
            short.append(
                f"{there}: {spoken(size)} needed, {spoken(free)} free; make room for {spoken(size - free)} more"
            )
    if short:
        raise UserError(["not enough room on the disk; nothing was fetched", *short])
