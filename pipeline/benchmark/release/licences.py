"""The licences of the questions, the verdicts and the images of a release.

They are written to LICENSE and to the metadata for the Hugging Face hub.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from pipeline.core.records import Subset
from pipeline.core.release_params import Licence, ReleaseComponent, ReleaseParams

# Licences for data in the list of the hub (https://huggingface.co/docs/hub/repositories-licenses).
HUB_LICENCE_IDS = {
    *("apache-2.0", "mit", "cc", "cc0-1.0", "unlicense", "odc-by", "odbl", "pddl", "gpl-3.0", "bsd-3-clause"),
    *("cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nd-4.0"),
    *("cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0"),
    *("cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0"),
    *("cdla-sharing-1.0", "cdla-permissive-1.0", "cdla-permissive-2.0"),
}
IMAGE_LICENCE_NOT_STATED = "The licence of the images is not stated. Ask their authors before you share them."
COVERED_FILES: dict[ReleaseComponent, str] = {
    "questions": "All files except those named below: rgqa/, the columns of data/, provenance.jsonl, the card and so on",
    "verdicts": "verdicts.jsonl, excluded_answers.jsonl, the votes in provenance.jsonl, quality.html without the images in it",
    "images": "The columns `image` of data/ and of harness/vlmevalkit/, and the images in card.png and quality.html",
}


def get_licences(p: ReleaseParams) -> dict[ReleaseComponent, Licence]:
    """Return the licence of each part of a release.

    The licence of the images is included only if the release contains the images and their licence is stated.
    """
    common = Licence(name=p.licence, url=p.licence_url)
    licences: dict[ReleaseComponent, Licence] = {
        part: p.licence_overrides.get(part, common) for part in COVERED_FILES
    }
    if not p.include_images or "images" not in p.licence_overrides:
        del licences["images"]
    return licences


def render_licence(title: str, p: ReleaseParams, subsets: Collection[Subset]) -> str:
    """Return the text of LICENSE: the licence of each part, the files that it covers, and whom to credit.

    Args:
        title: Title and version of the release.
        p: Parameters of the release.
        subsets: The subsets of the release. The changes to the questions of the source follow from them.
    """
    parts = []
    for part, licence in get_licences(p).items():
        text = [
            "Images" if part == "images" else part.capitalize(),
            f"  {licence.name}, {licence.url}",
            f"  {COVERED_FILES[part]}",
        ]
        if part == "questions":
            text.append(f"  Source: {p.data_source}")
            if changed := _describe_changes(subsets):
                text.append(f"  Changes: {changed}.")
        parts.append("\n".join(text))
    if not p.include_images:
        known = p.licence_overrides.get("images")
        under = f" They are published under {known.name}, {known.url}." if known else ""
        parts.append(
            "Images\n  This release contains no images and grants no rights to any. The terms of their publishers apply."
            f"{under}"
        )
    elif "images" not in p.licence_overrides:
        parts.append(f"Images\n  {IMAGE_LICENCE_NOT_STATED}\n  {COVERED_FILES['images']}")
    parts.append("Programs (scorers/, the *.py in harness/)\n  MIT, as the wheel in scorers/ says.")
    parts.append(f'Credit\n  "{title}"{", " + p.url if p.url else ""}')
    return "\n\n".join([f"{title}: the licence of each of its parts", *parts]) + "\n"


def _describe_changes(subsets: Collection[Subset]) -> str:
    """Return what was done to the questions of the source."""
    reassigned = [subset for subset in sorted(subsets) if subset.startswith("clip")]
    edited = [subset for subset in sorted(subsets) if subset.startswith("pt")]
    changes = [f"questions are asked about other images ({', '.join(reassigned)})"] if reassigned else []
    return " and ".join([*changes, *([f"questions were edited ({', '.join(edited)})"] if edited else [])])


def make_hub_licence_fields(p: ReleaseParams) -> dict[str, Any]:
    """Return the field `license` of the card's metadata.

    The value is "other", with a name and a link, if the hub does not know one of the licences, or if the
    licence of the images is not stated.
    """
    licences = list(dict.fromkeys(get_licences(p).values()))
    names = [re.sub(r"[^a-z0-9.]+", "-", licence.name.lower()).strip("-") for licence in licences]
    if p.include_images and "images" not in p.licence_overrides:
        names.append("images-not-stated")
    if HUB_LICENCE_IDS.issuperset(names):
        return {"license": names[0] if len(names) == 1 else names}
    return {"license": "other", "license_name": "-and-".join(names), "license_link": "LICENSE"}
