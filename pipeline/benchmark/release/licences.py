"""The licences of a release: of its questions, its verdicts and its images each, and how the hub calls them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from pipeline.core.records import Subset
from pipeline.core.release_params import Licence, ReleaseComponent, ReleaseParams

# Of the hub's list of licences (https://huggingface.co/docs/hub/repositories-licenses), those that data have.
HUB_LICENCE_IDS = {
    *("apache-2.0", "mit", "cc", "cc0-1.0", "unlicense", "odc-by", "odbl", "pddl", "gpl-3.0", "bsd-3-clause"),
    *("cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nd-4.0"),
    *("cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0"),
    *("cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0"),
    *("cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0"),
}
IMAGE_LICENCE_NOT_STATED = (
    "No licence of the images is stated. Ask those who made them before you pass them on."
)
COVERED_FILES: dict[ReleaseComponent, str] = {
    "questions": "All files but for what is named below: rgqa/, the columns of data/, provenance.jsonl, the card and so on",
    "verdicts": "verdicts.jsonl, set_aside.jsonl, the votes in provenance.jsonl, quality.html but for the images in it",
    "images": "The columns `image` of data/ and of harness/vlmevalkit/, those in card.png and quality.html",
}


def get_licences(p: ReleaseParams) -> dict[ReleaseComponent, Licence]:
    """What holds for each part of a release; for images only where it has them and their licence is stated."""
    common = Licence(name=p.licence, url=p.licence_url)
    licences: dict[ReleaseComponent, Licence] = {
        part: p.licence_overrides.get(part, common) for part in COVERED_FILES
    }
    if not p.include_images or "images" not in p.licence_overrides:
        del licences["images"]
    return licences


def render_licence(title: str, p: ReleaseParams, subsets: Collection[Subset]) -> str:
    """Write LICENSE: what holds for each part, which files these are, and what to say when they are passed on.

    Args:
        subsets: those of the release, which say what was changed.
    """
    parts = []
    for part, licence in get_licences(p).items():
        text = [
            "Images" if part == "images" else part.capitalize(),
            f"  {licence.name}, {licence.url}",
            f"  {COVERED_FILES[part]}",
        ]
        if part == "questions":
            text.append(f"  Where they come from: {p.data_source}")
            if changed := _describe_changes(subsets):
                text.append(f"  Changed: {changed}.")
        parts.append("\n".join(text))
    if not p.include_images:
        known = p.licence_overrides.get("images")
        under = f" They are there under {known.name}, {known.url}." if known else ""
        parts.append(
            "Images\n  This release has none, and gives no right to any. What holds for them is what those say who publish "
            f"them.{under}"
        )
    elif "images" not in p.licence_overrides:
        parts.append(f"Images\n  {IMAGE_LICENCE_NOT_STATED}\n  {COVERED_FILES['images']}")
    parts.append("Programs (scorers/, the *.py in harness/)\n  MIT, as the wheel in scorers/ says.")
    parts.append(f'Credit\n  "{title}"{", " + p.url if p.url else ""}')
    return "\n\n".join([f"{title}: the licence of each of its parts", *parts]) + "\n"


def _describe_changes(subsets: Collection[Subset]) -> str:
    """What was done to the source's questions."""
    put = [subset for subset in sorted(subsets) if subset.startswith("clip")]
    edited = [subset for subset in sorted(subsets) if subset.startswith("pt")]
    said = [f"questions were put to other images ({', '.join(put)})"] if put else []
    return " and ".join([*said, *([f"questions were edited ({', '.join(edited)})"] if edited else [])])


def make_hub_licence_fields(p: ReleaseParams) -> dict[str, Any]:
    """`license` of the card in the hub's words; `other`, with name and address, where it does not know one of them, or where
    none is stated of the images."""
    licences = list(dict.fromkeys(get_licences(p).values()))
    names = [re.sub(r"[^a-z0-9.]+", "-", licence.name.lower()).strip("-") for licence in licences]
    if p.include_images and "images" not in p.licence_overrides:
        names.append("images-not-stated")
    if HUB_LICENCE_IDS.issuperset(names):
        return {"license": names[0] if len(names) == 1 else names}
    return {"license": "other", "license_name": "-and-".join(names), "license_link": "LICENSE"}
