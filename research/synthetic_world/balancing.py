"""Questions among which no answer can be guessed from what kind of question it is, as GQA's benchmark has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pipeline.core.randomness import make_generator
from research.synthetic_world.questions import SampleQuestion


def balance_answers(questions: Sequence[SampleQuestion], seed: int) -> list[int]:
    """The places of the questions that are kept, in order.

    GQA cuts down the frequent answers of each group of questions (Hudson & Manning, CVPR 2019, section 3.4); the rule here is
    ours, and simpler: in each of GQA's local groups ("10q-shirt_color") as many questions of the commonest answer are drawn
    as there are of the second commonest, and a group of one answer is left out. So whoever knows the group alone is right for half of the questions at most.
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
