"""Fetch a set or a release from the Hugging Face Hub: `hub:OWNER/NAME@REVISION:PATH`.

The library `huggingface_hub` keeps what it has fetched, by revision, and checks the size of each file. A release also has checksums of
its own, which every command checks.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.hf_hub import use_cache_if_unreachable

PREFIX = "hub:"
_NAME = re.compile(r"hub:(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?(?::(?P<path>[^:]+))?")


def fetch_if_on_hub(source: Path | str) -> Path:
    """Return a local path, or fetch the data set that a name of the Hub stands for.

    Args:
        source: A path, or `hub:OWNER/NAME`, with `@REVISION` (a branch, a tag or a commit; the branch main without it) and `:PATH` (a
            file or folder of the data set; everything without it).

    Returns:
        The path itself, or that of the local copy.

    Raises:
        UserError: The name is wrong, or the data set, the revision or the path does not exist or cannot be fetched.

    >>> fetch_if_on_hub("coco_pope_random.json").name
    'coco_pope_random.json'
    """
    text = str(source)
    if not text.startswith(PREFIX):
        return Path(source)
    if not (match := _NAME.fullmatch(text)):
        raise UserError(
            f"{text}: wanted hub:OWNER/NAME, hub:OWNER/NAME@REVISION or hub:OWNER/NAME@REVISION:PATH"
        )
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import (
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )
    except ModuleNotFoundError:
        raise UserError(f"{text}: huggingface_hub is not installed: pip install huggingface_hub") from None
    name, revision, path = match["name"], match["revision"] or "main", match["path"]
    patterns = [path, f"{path.rstrip('/')}/**"] if path else None
    try:
        with use_cache_if_unreachable(name):
            folder = Path(
                snapshot_download(name, repo_type="dataset", revision=revision, allow_patterns=patterns)
            )
    except RevisionNotFoundError:
        raise UserError(f"{text}: {name} has no revision {revision}") from None
    except RepositoryNotFoundError:
        raise UserError(
            f"{text}: no such data set, or one that needs access: set HF_TOKEN to a token that may read it"
        ) from None
    except LocalEntryNotFoundError:
        raise UserError(
            f"{text}: the Hub is unreachable, and the data set is not in the local cache; try again with a network"
        ) from None
    # The library passes on errors of many types from the server.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"{text}: cannot be fetched: {reason}") from error
    found = folder / path if path else folder
    if not found.exists():
        raise UserError(f"{text}: the data set has no {path} at this revision")
    return found
