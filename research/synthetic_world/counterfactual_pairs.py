"""Generate counterfactual pairs: questions with an answer in one of two images that differ in one object, and none in the other.

Each pair of scenes has two such questions, one for each side. Every text and every image is once in an AQ and once in a UQ, so
neither alone leaks the label.
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

# Questions tried about an image before another object is altered.
MAX_DRAWS = 80
WORD_SENSES = WordSenses(
    categories={name: tuple(sorted(members)) for name, members in LEXICON.categories.items()},
    attribute_types=LEXICON.attribute_types,
)


@dataclass(frozen=True, slots=True)
class CounterfactualPair:
    """Two scenes, their complete graphs, and the questions that only the first and only the second can answer.

    Attributes:
        num_excluded: questions left out because the verifier and the independent reader of the truth
            (`research.simulated_annotators.answerability`) disagree, or the reader could not decide.
    """

    scene_pair: ScenePair
    truths: tuple[SceneGraph, SceneGraph]
    questions: tuple[ProposedQuestion, ProposedQuestion]
    num_excluded: int


def generate_pair(seed: int, index: int) -> CounterfactualPair:
    """Return pair number `index` of a seed. It depends on these two alone."""
    num_excluded = 0
    for scenes in generate_scene_pairs(seed, index):
        truths = build_complete_graph(scenes.scenes[0]), build_complete_graph(scenes.scenes[1])
        asked: list[ProposedQuestion] = []
        for here, there in (truths, truths[::-1]):
            question, excluded = _find_question(seed, scenes, here, there)
            num_excluded += excluded
            if question is None:
                break
            asked.append(question)
        if len(asked) == 2 and asked[0].text != asked[1].text:
            return CounterfactualPair(scenes, truths, (asked[0], asked[1]), num_excluded)
    raise AssertionError("scene pairs do not end")


def _find_question(
    seed: int, scenes: ScenePair, here: SceneGraph, there: SceneGraph
) -> tuple[ProposedQuestion | None, int]:
    """Return a question with an answer here and none there, or None, and the number of excluded questions."""
    ask = QuestionGenerator(
        SceneIndex(here), make_generator(seed, "twin questions", here.image_id, scenes.altered_object_id)
    )
    facts, num_excluded = (build_scene_evidence(here, LEXICON), build_scene_evidence(there, LEXICON)), 0
    for _ in range(MAX_DRAWS):
        proposal = choose_key(ask.rng, FAMILY_RATES)(ask)
        if proposal is None or not is_short(proposal) or not _mentions(proposal, scenes.altered_object_id):
            continue
        results = [verify_question(proposal.program, known) for known in facts]
        if (results[0].answerability, results[1].category) != ("answerable", scenes.category):
            continue
        if is_verified(proposal, here, there):
            return proposal, num_excluded
        num_excluded += 1
    return None, num_excluded


def is_verified(question: ProposedQuestion, here: SceneGraph, there: SceneGraph) -> bool:
    """Whether the independent reader of the truth finds an answer here and none there."""
    try:
        obstacles = [find_obstacle(question.program, scene, WORD_SENSES) for scene in (here, there)]
    except Unclear:
        return False
    return obstacles[0] is None and obstacles[1] is not None


def _mentions(question: ProposedQuestion, object_id: str) -> bool:
    return any(f"({object_id})" in step.argument for step in question.program)
