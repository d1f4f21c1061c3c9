"""Copy a release to where it stays for good."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.files import read_jsonl
from pipeline.releasing.check_release import check_release
from pipeline.releasing.checksums import SUMS
from pipeline.releasing.provenance import Provenance


def publish(release: Path, target: Path) -> str:
    """Copy `release` (a version's folder) to `target/<data set>/<version>`, read-only; say what was done.
    Publishing the same bytes again does nothing.

    Raises:
        UserError: the release does not pass its check, is a rehearsal, or was published with other bytes.
    """
    check_release(release)
    if any(row.item.rehearsal for row in read_jsonl(release / "provenance.jsonl", Provenance)):
        raise UserError(
            f"{release}: a rehearsal; its verdicts are simulated from no known truth, so it is not published"
        )
    place = target / release.parent.name / release.name
    if place.exists():
        if (place / SUMS).is_file() and (place / SUMS).read_bytes() == (release / SUMS).read_bytes():
            check_release(place)
            return f"already published with the same bytes -> {place}"
        raise UserError(
            f"{place}: this version was published with different bytes; a published version never changes. "
            "Raise `version` in params.yaml and run dvc repro"
        )
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        shutil.copytree(release, temporary)
        for path in temporary.rglob("*"):
            if path.is_file():
                path.chmod(0o444)
        temporary.replace(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return f"published -> {place}"
