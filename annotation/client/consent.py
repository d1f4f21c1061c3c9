"""What people agree to before they annotate: the text, and whom to ask, the pay and the ethics approval, which the study leader
gives once (`rgqa annotate invite --contact ... --pay ... --ethics-approval ...`).

Kept in data/<data set>/study/consent.json. The text is `consent.md` beside this file, or the study's own in that folder;
`{contact}`, `{pay}` and `{ethics}` stand for the fields. Who agreed to one text is asked again when it changes: its hash tells.
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
    """The fields of the text. `contact` is a person with an address; the others may be left as they are."""

    contact: str
    pay: str = "none"
    ethics_approval: str = "none was asked for"


def save_terms(
    folders: DatasetFolders, contact: str = "", pay: str = "", ethics_approval: str = ""
) -> ConsentTerms:
    """Keep the fields that are given; the others stay.

    Raises:
        UserError: there is no contact yet, and none is given.
    """
    given = {"contact": contact, "pay": pay, "ethics": ethics_approval}
    path = folders.study / "consent.json"
    known = msgspec.to_builtins(read_json(path, ConsentTerms)) if path.exists() else {}
    fields = known | {name: value.strip().rstrip(".") for name, value in given.items() if value.strip()}
    if "contact" not in fields:
        raise UserError(
            "whom can annotators ask, and tell that they want their answers deleted? Nobody may be asked to agree without "
            'that; say it once: rgqa annotate invite NAME --contact "Ann Lee, ann@example.org" (and --pay, --ethics-approval)'
        )
    terms = msgspec.convert(fields, ConsentTerms)
    if fields != known:
        write_json(path, terms)
    return terms


def read_consent_text(folders: DatasetFolders) -> tuple[Path, str]:
    """The text as people agree to it, in Markdown, and where it stands.

    Raises:
        UserError: no contact is known, or the study's own text does not name it.
    """
    terms = msgspec.to_builtins(save_terms(folders))
    path, text = read_text("consent.md", folders.study)
    if "{contact}" not in text:
        raise UserError(f"{path}: must say whom to ask; write {{contact}} where the address is to stand")
    for name, value in terms.items():
        text = text.replace(f"{{{name}}}", value)
    return path, text


def build_consent(folders: DatasetFolders) -> dict[str, Any]:
    """What `study/queue.json` has under `consent`: the page, the hash of its text, and the fields."""
    path, text = read_consent_text(folders)
    shown = {"html": render_page(text, path), "hash": sha256(text.encode()).hexdigest()}
    return shown | msgspec.to_builtins(save_terms(folders))
