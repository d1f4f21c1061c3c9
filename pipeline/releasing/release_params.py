"""What a release is made with: section `release` of params.yaml."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

import msgspec

from pipeline.core.params import FoldCount, Params, Seed
from pipeline.core.records import Record, Subset

Filled = Annotated[str, msgspec.Meta(min_length=1)]
Address = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$")]  # it becomes a link, on cards and pages
Part = Literal["questions", "verdicts", "pictures"]


class Licence(Params):
    """The name of a licence, like "CC BY 4.0", and the address of its text."""

    name: Filled
    url: Address


class ReleaseParams(Params):
    """Parameters of the release.

    Attributes:
        title: name on the card. origin: one paragraph on where pictures and questions come from.
        licence, licence_url: of the data. licences: of questions, verdicts or pictures, where another holds for them.
        published: date of the version, YYYY-MM-DD (never taken from a clock).
        pictures: put the pictures into the tables; if not, `fetch_recipe` says how to get them.
        url: where the release is to be found. creators: who made it. keywords: beside those of every release.
        derived_from: data sets that it was made from, name -> address; none if pictures and questions are its own.
        annotated_by: what kind of people judged, in the hub's words. annotator_demographics: what is known of them.
        collected: first and last day of the annotation.
        simulated: what else than verdicts no person made, a sentence each. biases, limits: what is known of the source.
        personal_information: what is known of it in pictures and questions.
        folds, seed: of the blind sanity predictions.
    """

    title: Filled
    origin: Filled
    licence: Filled
    licence_url: Address
    published: date
    licences: dict[Part, Licence] = msgspec.field(default_factory=dict)
    pictures: bool = True
    fetch_recipe: str = ""
    url: Annotated[str, msgspec.Meta(pattern=r"^(https?://\S+)?$")] = ""
    creators: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    derived_from: dict[str, Address] = msgspec.field(default_factory=dict)
    annotated_by: Literal["crowdsourced", "expert-generated", "other"] = "crowdsourced"
    annotator_demographics: str = ""
    collected: tuple[date, date] | None = None
    simulated: tuple[str, ...] = ()
    biases: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    personal_information: str = ""
    folds: FoldCount = 5
    seed: Seed = 0


class _Told(Record, forbid_unknown_fields=False):
    origin: str = ""


class _Audited(Record, forbid_unknown_fields=False):
    limits: dict[Subset, float] = msgspec.field(default_factory=dict)


class ReleaseRecord(Record, forbid_unknown_fields=False):
    """What a release's params.json tells those who look at a release, among much that they do not need."""

    dataset: str
    version: str
    release: _Told = _Told()
    audit: _Audited = _Audited()
