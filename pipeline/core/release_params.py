"""What a release is made with: section `release` of params.yaml."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.params import (
    PARAMS_FILE,
    FoldCount,
    Params,
    Seed,
    convert_params,
    read_dataset_name,
    read_dataset_params,
)
from pipeline.core.records import Record, Subset

PLACEHOLDERS = {
    "licence_url": "https://example.org",
    "published": "2000-01-01",
}  # for what is not filled in yet
NonEmptyStr = Annotated[str, msgspec.Meta(min_length=1)]
HttpUrl = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$")]  # it becomes a link, on cards and pages
LanguageCode = Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")]
ReleaseComponent = Literal["questions", "verdicts", "images"]


class Licence(Params):
    """The name of a licence, like "CC BY 4.0", and the address of its text."""

    name: NonEmptyStr
    url: HttpUrl


class ReleaseParams(Params):
    """Parameters of the release.

    Attributes:
        title: name on the card. origin: one paragraph on where images and questions come from.
        licence, licence_url: of questions and verdicts. licences: of one of them, where another holds for it; that of
            the images stands here (`images`), or none is stated.
        published: date of the version, YYYY-MM-DD (never taken from a clock).
        images: put the images into the tables; if not, `fetch_recipe` says how to get them.
        url: where the release is to be found. creators: who made it. keywords: in addition to those of every release.
        languages: of the questions, as ISO 639 codes ("en").
        derived_from: data sets that it was made from, name -> address; {} if images and questions are its own, None if
            nothing is stated.
        annotated_by: what kind of people judged, in the hub's words; "" if nothing is stated. annotator_demographics:
            what is known of them.
        collected: first and last day of the annotation.
        simulated: what else than verdicts no person made, a sentence each. biases, limits: what is known of the source.
        personal_information: what is known of it in images and questions.
        uses: what the data are meant for and what not, a sentence each. social_impact: what they may do to people.
        maintenance: who mends faults, and how.
        folds, seed: of the text-only sanity predictions.
    """

    title: NonEmptyStr
    data_source: NonEmptyStr
    licence: NonEmptyStr
    licence_url: HttpUrl
    release_date: date
    licence_overrides: dict[ReleaseComponent, Licence] = msgspec.field(default_factory=dict)
    include_images: bool = True
    image_instructions: str = ""
    url: Annotated[str, msgspec.Meta(pattern=r"^(https?://\S+)?$")] = ""
    creators: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    languages: tuple[LanguageCode, ...] = ()
    derived_from: dict[str, HttpUrl] | None = None
    annotated_by: Literal["", "crowdsourced", "expert-generated", "other"] = ""
    annotator_demographics: str = ""
    annotation_dates: tuple[date, date] | None = None
    simulated_content: tuple[str, ...] = ()
    biases: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    personal_information: str = ""
    intended_uses: tuple[str, ...] = ()
    social_impact: str = ""
    maintenance: str = ""
    num_folds: FoldCount = 5
    seed: Seed = 0


def check_release_params(path: Path = PARAMS_FILE) -> str:
    """Check section `release` before the first stage runs, so that nothing is refused after the annotation.

    Args:
        path: params.yaml.

    Returns:
        A warning that names the fields that are still empty and that stage `release` needs; "" if there are none.

    Raises:
        UserError: lists every field that is filled in and wrong.
    """
    values, where = read_dataset_params(path).get("release"), f"{path}, {read_dataset_name(path)}.release"
    if not isinstance(values, dict):
        return f"{where}: the section is missing; stage `release` needs it"
    needed = {field.encode_name for field in msgspec.structs.fields(ReleaseParams) if field.required}
    empty = sorted(name for name in needed if values.get(name) in (None, ""))
    p = convert_params(values | {name: PLACEHOLDERS.get(name, name) for name in empty}, ReleaseParams, where)
    if p.annotation_dates and p.annotation_dates[0] > p.annotation_dates[1]:
        raise UserError(f"{where}: collected: the last day comes before the first; exchange them")
    if not empty:
        return ""
    return f"{where}: {', '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty; fill in before stage `release` runs"


class _ReleaseSection(Record, forbid_unknown_fields=False):
    data_source: str = ""
    include_images: bool | None = None


class _AuditSection(Record, forbid_unknown_fields=False):
    max_text_auroc: dict[Subset, float] = msgspec.field(default_factory=dict)


class RecordedParams(Record, forbid_unknown_fields=False):
    """The fields of a release's params.json that are read again from a release."""

    dataset: str
    version: str
    release: _ReleaseSection = _ReleaseSection()
    audit: _AuditSection = _AuditSection()
