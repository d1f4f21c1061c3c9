"""Download a release from the Hugging Face hub once, check it, and keep it.

The environment variables HF_ENDPOINT, HF_TOKEN and HF_HOME set the address of the hub, the account and the folder of downloads.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.benchmark.release.check_release import check_checksums
from pipeline.core.errors import UserError

HUB_PREFIX = "hub:"


def resolve_hub_arguments(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with each `hub:OWNER/NAME@REVISION` replaced by the folder of that release.

    Raises:
        UserError: A name is malformed, or a release cannot be downloaded or differs from what was published.
    """
    return [str(fetch_release(word)) if word.startswith(HUB_PREFIX) else word for word in words]


def fetch_release(source: str) -> Path:
    """Return the folder of a release on the hub. It is downloaded unless this revision has been downloaded before.

    Args:
        source: "hub:OWNER/NAME", or "hub:OWNER/NAME@REVISION" with a tag such as v1.0.0, a branch or a commit.

    Raises:
        UserError: The name is malformed, there is no such data set or revision, the hub cannot be reached and the revision is not
            there yet, or the files differ from their checksums.
    """
    found = re.fullmatch(r"hub:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", source)
    if not found:
        raise UserError(
            f"{source}: expected hub:OWNER/NAME or hub:OWNER/NAME@REVISION, for example hub:example/rgqa-sample@v1.0.0"
        )
    name, revision = found[1], found[2] or "main"
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    was_quiet = are_progress_bars_disabled()
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        folder = Path(snapshot_download(name, repo_type="dataset", revision=revision))
    except RevisionNotFoundError as error:
        raise UserError(
            f"{source}: the data set has no revision {revision}; a release has one such as v1.0.0"
        ) from error
    except RepositoryNotFoundError as error:
        raise UserError(
            f"{source}: no such data set, or no right to read it; check the name and HF_TOKEN"
        ) from error
    except HfHubHTTPError as error:
        raise UserError(f"{source}: the hub replied: {_first_line(error)}") from error
    except LocalEntryNotFoundError as error:
        raise UserError(
            f"{source}: the hub cannot be reached, and this revision was not downloaded before; check HF_ENDPOINT and the network"
        ) from error
    except (OSError, ValueError) as error:
        raise UserError(f"{source}: {_first_line(error)}") from error
    finally:
        if not was_quiet:
            enable_progress_bars()
    check_checksums(folder)
    return folder


def _first_line(error: Exception) -> str:
    """Return the first line of an error of the hub's library, without its request id."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return re.sub(r"\s*\(Request ID: [^)]*\)", "", lines[0] if lines else type(error).__name__)
