"""A release on the Hugging Face hub: its folder as a data set, each version a tag. HF_ENDPOINT and HF_TOKEN of the environment
say where and who."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.benchmark.release.check_release import (
    CHECKSUMS_FILE,
    check_release,
    list_release_files,
    read_released_items,
)
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import read_json


def publish_to_hub(release: Path, name: str, is_demo: bool = False) -> str:
    """Upload the folder to the data set `name`, made if it is not there; what another version left there goes. Say what was
    done. Interrupted, the same command goes on.

    Args:
        as_demo: also a release whose verdicts are simulated, and a rehearsal.

    Raises:
        UserError: the release does not pass its check or is simulated, there is no token, this version is there already, or
            the hub refuses.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UserError(f"--hub {name}: wanted OWNER/NAME, as in the data set's address on the hub")
    check_release(release)
    items = list(read_released_items(release))
    kind = (
        "a rehearsal"
        if any(i.rehearsal for i in items)
        else "simulated"
        if any(i.simulated for i in items)
        else ""
    )
    if kind and not is_demo:
        raise UserError(
            f"{release}: its verdicts are {kind}: nobody has judged these questions, and others would take them for a benchmark; "
            "--allow-simulated publishes it as what it is"
        )
    from huggingface_hub import HfApi, get_token

    if not get_token():
        raise UserError("no token for the hub: set HF_TOKEN to one that may write")
    version = read_json(release / "params.json")["version"]
    api, tag = HfApi(), f"v{version}"
    where = f"{api.endpoint}/datasets/{name}"
    try:
        api.create_repo(name, repo_type="dataset", exist_ok=True)
        if tag in {ref.name for ref in api.list_repo_refs(name, repo_type="dataset").tags}:
            raise UserError(
                f"{where}: has {tag} already, and a published version never changes; raise `version` in params.yaml"
            )
        api.upload_folder(
            repo_id=name,
            repo_type="dataset",
            folder_path=release,
            commit_message=f"Version {version}",
            allow_patterns=[*list_release_files(release), CHECKSUMS_FILE],
            delete_patterns=["*"],
        )
        api.create_tag(name, tag=tag, repo_type="dataset")  # last: what has its tag is whole
    except UserError:
        raise
    # The library's client has its own kinds of errors, and so has an answer of another form.
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"{where}: the hub refuses, or is out of reach ({reason}); may the token write there, and is HF_ENDPOINT right? "
            "What was uploaded stays; the same command goes on"
        ) from error
    return f"{kind + ', as a demo: ' if kind else ''}{format_count(len(items), 'item')} as {tag} -> {where}"
