"""Publish a release on the Hugging Face hub: its folder as a data set, and each version as a tag.

The environment variables HF_ENDPOINT and HF_TOKEN set the address of the hub and the account.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.benchmark.release.check_release import (
    CHECKSUMS_FILE,
    check_release,
    list_release_files,
    read_released_items,
    refuse_trial,
)
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import read_json
from pipeline.core.release_params import RecordedParams


def publish_to_hub(release: Path, name: str, is_demo: bool = False, allow_trial: bool = False) -> str:
    """Upload a release to a data set on the Hugging Face hub.

    The data set is created if needed. Files of other versions are deleted. An interrupted upload continues if
    the function is called again.

    Args:
        release: The folder of the release.
        name: The data set, as OWNER/NAME.
        is_demo: Whether to publish a release with simulated verdicts or those of models, or a rehearsal, as a demo.
        allow_trial: Whether to publish it even if the study was only a trial.

    Returns:
        One line that states what was done.

    Raises:
        UserError: The release does not pass its check, no person has judged it and `is_demo` is false, the study was a
            trial, there is no token, the version is already published, or the hub refuses the upload.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UserError(f"--hub {name}: expected OWNER/NAME, as in the address of the data set on the hub")
    check_release(release)
    about = read_json(release / "params.json", RecordedParams)
    items = list(read_released_items(release))
    kind = (
        "a rehearsal"
        if any(i.rehearsal for i in items)
        else "simulated"
        if any(i.simulated for i in items)
        else "those of models"
        if about.release.annotated_by == "machine-generated"
        else ""
    )
    if kind and not is_demo:
        raise UserError(
            f"{release}: its verdicts are {kind}: no person has judged these questions, and others could mistake it for"
            " a human-annotated benchmark. Give --allow-simulated to publish it as a demo."
        )
    refuse_trial(release, allow_trial)
    from huggingface_hub import HfApi, get_token

    if not get_token():
        raise UserError("no token for the hub; set HF_TOKEN to a token with write access")
    api, tag = HfApi(), f"v{about.version}"
    where = f"{api.endpoint}/datasets/{name}"
    try:
        api.create_repo(name, repo_type="dataset", exist_ok=True)
        if tag in {ref.name for ref in api.list_repo_refs(name, repo_type="dataset").tags}:
            raise UserError(
                f"{where}: {tag} is already published, and a published version never changes; raise `version` in"
                " params.yaml"
            )
        api.upload_folder(
            repo_id=name,
            repo_type="dataset",
            folder_path=release,
            commit_message=f"Version {about.version}",
            allow_patterns=[*list_release_files(release), CHECKSUMS_FILE],
            delete_patterns=["*"],
        )
        # The tag is created last, so that a tagged version is complete.
        api.create_tag(name, tag=tag, repo_type="dataset")
    except UserError:
        raise
    # The HTTP client and unexpected responses raise errors of many types.
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"{where}: the hub refused the upload or cannot be reached ({reason}); check that the token has write"
            " access and that HF_ENDPOINT is right. Uploaded files are kept; the same command continues"
        ) from error
    return f"{kind + ', as a demo: ' if kind else ''}{format_count(len(items), 'item')} as {tag} -> {where}"
