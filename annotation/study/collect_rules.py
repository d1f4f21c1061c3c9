"""The rules by which verdicts are weighed and counted."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from pipeline.core.params import Params

Rule = Literal["majority", "unanimity", "dawid-skene"]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class CollectRules(Params):
    min_votes: Annotated[int, msgspec.Meta(ge=1)] = 2  # fewer counted votes leave a candidate unjudged
    rule: Rule = "majority"  # or unanimity: how many votes must say invalid; or dawid-skene
    # Of dawid-skene: a candidate less probably (un)answerable than this is doubtful.
    min_posterior: Annotated[float, msgspec.Meta(gt=0.5, le=1)] = 0.95
    min_filter_accuracy: Share = 0.8  # annotators below it fail "accuracy"
    min_filter_answers: Annotated[int, msgspec.Meta(ge=1)] = 20  # fewer answers say too little of anybody
    # Who fails one of these is excluded; the others are told in the quality report.
    excluding: tuple[Literal["accuracy", "speed", "one answer", "long run"], ...] = ("accuracy",)
    fast_seconds: Annotated[float, msgspec.Meta(ge=0)] = 3.0  # nobody reads two questions and looks in less
    max_fast: Share = 0.25  # a larger share of such tasks is suspect speed
    max_excess: Share = 0.2  # a choice given so much more often than by others is suspect,
    flag_level: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.001  # if less probable than this by chance
