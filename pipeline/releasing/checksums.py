"""SHA-256 sums of a release, in the format of `sha256sum`, and the check that a copy is whole."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import Problems
from pipeline.core.files import sha256_file, write_text

SUMS = "CHECKSUMS.sha256"


def write_checksums(folder: Path) -> None:
    """Write the sums of every file in the folder, sorted by path."""
    lines = [f"{sha256_file(folder / path)}  {path}\n" for path in _files(folder)]
    write_text(folder / SUMS, "".join(lines))


def check_checksums(folder: Path) -> int:
    """Compare every file with its sum; return how many were compared.

    Raises:
        UserError: lists every file that is missing, changed or not listed.
    """
    problems = Problems(f"{folder}: the release is not as it was published")
    if not (folder / SUMS).is_file():
        problems.add(SUMS, "no such file; this is not a release folder, or a part of one")
        problems.raise_if_any()
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    expected = {line[66:]: line[:64] for line in lines}
    present = set(_files(folder))
    for path in sorted(set(expected) | present):
        if path not in present:
            problems.add(path, "missing")
        elif path not in expected:
            problems.add(path, f"not listed in {SUMS}")
        elif sha256_file(folder / path) != expected[path]:
            problems.add(path, "its bytes have changed")
    problems.raise_if_any()
    return len(expected)


def _files(folder: Path) -> list[str]:
    return sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != SUMS
    )
