"""Build the consent text that people accept before they annotate.

The contact, the pay and the ethics approval are set by `rgqa annotate invite --contact ... --pay ...
--ethics-approval ...` and stored in data/<data set>/study/consent.json. The text is `consent.md` in this
folder, or the file `consent.md` in the folder study/. The fields `{contact}`, `{pay}` and `{ethics_approval}`
in the text are filled in. If the text changes, its hash changes, and annotators are asked for their consent
again.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from annotation.client.annotator_texts import read_text, render_page
from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Record


class ConsentTerms(Record):
    """The fields of the consent text. `contact` names a person and an address of the person."""

    contact: str
    pay: str = "none"
    ethics_approval: str = "none was asked for"


def save_terms(
    folders: DatasetFolders, contact: str = "", pay: str = "", ethics_approval: str = ""
) -> ConsentTerms:
    """Store the given fields, keep all other fields, and return all fields.

    "" means that a field is not given.

    Raises:
        UserError: No contact is stored, and no contact is given.
    """
    given = {"contact": contact, "pay": pay, "ethics_approval": ethics_approval}
    path = folders.study / "consent.json"
    known = msgspec.to_builtins(read_json(path, ConsentTerms)) if path.exists() else {}
    fields = known | {name: value.strip().rstrip(".") for name, value in given.items() if value.strip()}
    if "contact" not in fields:
        raise UserError(
            "--contact is missing: annotators need a person to ask and to request the deletion of their answers. Set it once: "
            'rgqa annotate invite NAME --contact "Ann Lee, ann@example.org" (optionally with --pay and --ethics-approval)'
        )
    terms = msgspec.convert(fields, ConsentTerms)
    if fields != known:
        write_json(path, terms)
    return terms


def read_consent_text(folders: DatasetFolders) -> tuple[Path, str]:
    """Return the path and the Markdown of the consent text, with all fields filled in.

    Raises:
        UserError: No contact is stored, or the text does not contain it.
    """
    terms = msgspec.to_builtins(save_terms(folders))
    path, text = read_text("consent.md", folders.study)
    if "{contact}" not in text:
        raise UserError(
            f"the consent text names no contact: {path}. Write {{contact}} where it should appear"
        )
    for name, value in terms.items():
        text = text.replace(f"{{{name}}}", value)
    return path, text


def build_consent(folders: DatasetFolders) -> dict[str, Any]:
    """Return the entry `consent` of study/queue.json: the page, the hash of its text, and the fields."""
    path, text = read_consent_text(folders)
    shown = {"html": render_page(text, path), "hash": sha256(text.encode()).hexdigest()}
    return shown | msgspec.to_builtins(save_terms(folders))
