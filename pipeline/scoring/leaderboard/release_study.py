"""Read what a release's `study.json` says for a leaderboard: the error of the labels, and the models that voted."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pipeline.core.json_files import read_json
from pipeline.core.records import Record
from pipeline.core.release_params import STUDY_FILE


class ReleaseLabelError(Record, forbid_unknown_fields=False):
    """The proportion of unanswerable questions that have an answer after all, by the audit sample.

    Attributes:
        value, low, high: The proportion in [0, 1] and its 95 % interval; None if it is not known.
        num_audited: Number of candidates in the audit sample.
        unknown_because: Why it is not known; "" if it is known.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    num_audited: int = 0
    unknown_because: str = ""


class PanelVoter(Record, forbid_unknown_fields=False):
    """A model that judged candidates.

    Attributes:
        model: Name of the model.
        sensitivity: Subset of these candidates -> sensitivity.
    """

    model: str
    sensitivity: dict[str, float] = msgspec.field(default_factory=dict)


class ReleasePanel(Record, forbid_unknown_fields=False):
    """The models that judged candidates."""

    voters: tuple[PanelVoter, ...] = ()


class ReleaseStudy(Record, forbid_unknown_fields=False):
    """The part of study.json that a leaderboard uses. `StudyFacts` has all of it."""

    label_error: ReleaseLabelError = ReleaseLabelError(unknown_because="the release states none")
    panel: ReleasePanel = ReleasePanel()


def read_release_study(release: Path) -> ReleaseStudy:
    """Return what is known of the annotation of a release; the defaults if it has no study.json.

    Raises:
        UserError: The file cannot be read.
    """
    path = release / STUDY_FILE
    return read_json(path, ReleaseStudy) if path.is_file() else ReleaseStudy()
