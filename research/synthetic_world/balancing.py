"""Balance questions so that no answer can be guessed from the question type, as in GQA's benchmark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pipeline.core.randomness import make_generator
from research.synthetic_world.questions import SampleQuestion


def balance_answers(questions: Sequence[SampleQuestion], seed: int) -> list[int]:
    """Return the indices of a balanced subset of the questions, in order.

    GQA reduces the frequent answers of each group of questions (Hudson & Manning, CVPR 2019, section 3.4).
    This rule is simpler: in each local group of GQA (such as "10q-shirt_color"), questions with the most
    common answer are sampled down to the frequency of the second most common answer. Groups with only one
    answer are omitted. Therefore a model that knows only the group answers at most half of the questions
    correctly.
    """
    places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, question in enumerate(questions):
        places[question.group_local][question.answer].append(place)
    rng = make_generator(seed, "balanced")
    kept: list[int] = []
    for _, answers in sorted(places.items()):
        first, *others = sorted(answers.values(), key=lambda same: (-len(same), same))
        if others:
            kept += [first[i] for i in rng.permutation(len(first))[: len(others[0])]]
            kept += [place for same in others for place in same]
    return sorted(kept)
