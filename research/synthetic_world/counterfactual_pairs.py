"""Questions on counterfactual twins: each has an answer at one of two images that differ in one thing, and none at the other.

Of each two scenes there are two such questions, one for either side: every text and every image is once an AQ and once a UQ,
so that neither alone tells anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.randomness import make_generator
from pipeline.core.records import SceneGraph
from pipeline.verifier.evidence import build_scene_evidence
from pipeline.verifier.verification import verify_question
from research.simulated_annotators.answerability import Unclear, find_obstacle
from research.simulated_annotators.word_senses import WordSenses
from research.synthetic_world.counterfactual_scenes import ScenePair, generate_scene_pairs
from research.synthetic_world.question_checks import LEXICON
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.questions import FAMILY_RATES, is_short
from research.synthetic_world.random_choice import choose_key
from research.synthetic_world.scene_graphs import build_complete_graph
from research.synthetic_world.scene_index import SceneIndex

MAX_DRAWS = 80  # questions drawn at an image before something else is altered
WORD_SENSES = WordSenses(
    categories={name: tuple(sorted(members)) for name, members in LEXICON.categories.items()},
    attribute_types=LEXICON.attribute_types,
)


@dataclass(frozen=True, slots=True)
class CounterfactualPair:
    """Two scenes, what is true of them, and the question that only the first, and only the second, has an answer to.

    Attributes:
        doubted: questions left out because the generator's judge and the independent reader of the truth, `research.simulated_annotators.answerability`,
            did not agree of them, or the reader could not tell.
    """

    scene_pair: ScenePair
    truths: tuple[SceneGraph, SceneGraph]
    questions: tuple[ProposedQuestion, ProposedQuestion]
    num_excluded: int


def generate_pair(seed: int, index: int) -> CounterfactualPair:
    """Twins number `index` of a seed: they depend on these two alone."""
    doubted = 0
    for scenes in generate_scene_pairs(seed, index):
        truths = build_complete_graph(scenes.scenes[0]), build_complete_graph(scenes.scenes[1])
        asked: list[ProposedQuestion] = []
        for here, there in (truths, truths[::-1]):
            question, doubts = _find_question(seed, scenes, here, there)
            doubted += doubts
            if question is None:
                break
            asked.append(question)
        if len(asked) == 2 and asked[0].text != asked[1].text:
            return CounterfactualPair(scenes, truths, (asked[0], asked[1]), doubted)
    raise AssertionError("twin scenes do not end")


def _find_question(
    seed: int, scenes: ScenePair, here: SceneGraph, there: SceneGraph
) -> tuple[ProposedQuestion | None, int]:
    """A question that has an answer here and lacks what was altered there, if some draws find one, and how many were doubted."""
    ask = QuestionGenerator(
        SceneIndex(here), make_generator(seed, "twin questions", here.image_id, scenes.altered_object_id)
    )
    facts, doubted = (build_scene_evidence(here, LEXICON), build_scene_evidence(there, LEXICON)), 0
    for _ in range(MAX_DRAWS):
        proposal = choose_key(ask.rng, FAMILY_RATES)(ask)
        if proposal is None or not is_short(proposal) or not _mentions(proposal, scenes.altered_object_id):
            continue
        told = [verify_question(proposal.program, known) for known in facts]
        if (told[0].answerability, told[1].category) != ("answerable", scenes.category):
            continue
        if is_verified(proposal, here, there):
            return proposal, doubted
        doubted += 1
    return None, doubted


def is_verified(question: ProposedQuestion, here: SceneGraph, there: SceneGraph) -> bool:
    """Whether the independent reader of the truth finds an answer here and none there."""
    try:
        lacking = [find_obstacle(question.program, scene, WORD_SENSES) for scene in (here, there)]
    except Unclear:
        return False
    return lacking[0] is None and lacking[1] is not None


def _mentions(question: ProposedQuestion, object_id: str) -> bool:
    return any(f"({object_id})" in step.argument for step in question.program)
