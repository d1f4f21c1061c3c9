"""Questions on counterfactual twins: each has an answer at one of two pictures that differ in one thing, and none at the other.

Of each two scenes there are two such questions, one for either side: every text and every picture is once an AQ and once a UQ,
so that neither alone tells anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.randomness import generator
from pipeline.core.records import Scene
from pipeline.verifier.evidence import facts_of
from pipeline.verifier.verification import judge
from research.simulated_annotators.answerability import Unclear, obstacle
from research.simulated_annotators.word_senses import WordSenses
from research.synthetic_world.counterfactual_scenes import TwinScenes, twin_scenes
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.question_proposals import Asker, ProposedQuestion
from research.synthetic_world.questions import SHARES, is_short
from research.synthetic_world.random_choice import by_share
from research.synthetic_world.scene_graphs import truth
from research.synthetic_world.scene_index import View

DRAWS = 80  # questions drawn at a picture before something else is altered
WORDS = WordSenses(
    categories={name: tuple(sorted(members)) for name, members in LEXICON.categories.items()},
    attribute_types=LEXICON.attribute_types,
)


@dataclass(frozen=True, slots=True)
class Twins:
    """Two scenes, what is true of them, and the question that only the first, and only the second, has an answer to.

    Attributes:
        doubted: questions left out because the generator's judge and the independent reader of the truth, `research.simulated_annotators.answerability`,
            did not agree of them, or the reader could not tell.
    """

    scenes: TwinScenes
    truths: tuple[Scene, Scene]
    asked: tuple[ProposedQuestion, ProposedQuestion]
    doubted: int


def twins(seed: int, index: int) -> Twins:
    """Twins number `index` of a seed: they depend on these two alone."""
    doubted = 0
    for scenes in twin_scenes(seed, index):
        truths = truth(scenes.worlds[0]), truth(scenes.worlds[1])
        asked: list[ProposedQuestion] = []
        for here, there in (truths, truths[::-1]):
            question, doubts = _question(seed, scenes, here, there)
            doubted += doubts
            if question is None:
                break
            asked.append(question)
        if len(asked) == 2 and asked[0].text != asked[1].text:
            return Twins(scenes, truths, (asked[0], asked[1]), doubted)
    raise AssertionError("twin scenes do not end")


def _question(
    seed: int, scenes: TwinScenes, here: Scene, there: Scene
) -> tuple[ProposedQuestion | None, int]:
    """A question that has an answer here and lacks what was altered there, if some draws find one, and how many were doubted."""
    ask = Asker(View(here), generator(seed, "twin questions", here.picture_id, scenes.altered))
    facts, doubted = (facts_of(here, LEXICON), facts_of(there, LEXICON)), 0
    for _ in range(DRAWS):
        proposal = by_share(ask.rng, SHARES)(ask)
        if proposal is None or not is_short(proposal) or not _speaks_of(proposal, scenes.altered):
            continue
        told = [judge(proposal.program, known) for known in facts]
        if (told[0].answerability, told[1].category) != ("answerable", scenes.category):
            continue
        if verified(proposal, here, there):
            return proposal, doubted
        doubted += 1
    return None, doubted


def verified(question: ProposedQuestion, here: Scene, there: Scene) -> bool:
    """Whether the independent reader of the truth finds an answer here and none there."""
    try:
        lacking = [obstacle(question.program, scene, WORDS) for scene in (here, there)]
    except Unclear:
        return False
    return lacking[0] is None and lacking[1] is not None


def _speaks_of(question: ProposedQuestion, object_id: str) -> bool:
    return any(f"({object_id})" in step.argument for step in question.program)
