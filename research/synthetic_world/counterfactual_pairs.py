"""Generate counterfactual pairs: questions that have an answer in only one of two images that differ in one
object.

Each pair of scenes has two questions. One has an answer only in the first image, the other only in the
second. Every text and every image occurs once in an answerable question (AQ) and once in an unanswerable
question (UQ), so neither text nor image alone reveals the label.
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

# Maximum number of questions that are tried about an image before another object is changed.
MAX_DRAWS = 80
WORD_SENSES = WordSenses(
    categories={name: tuple(sorted(members)) for name, members in LEXICON.categories.items()},
    attribute_types=LEXICON.attribute_types,
)


@dataclass(frozen=True, slots=True)
class CounterfactualPair:
    """Two scenes, their complete graphs, and two questions: one for each scene, with an answer only in that
    scene.

    Attributes:
        num_excluded: Number of questions that were excluded, because the verifier and the independent check
            of the truth (`research.simulated_annotators.answerability`) disagree, or the check could not
            decide.
    """

    scene_pair: ScenePair
    truths: tuple[SceneGraph, SceneGraph]
    questions: tuple[ProposedQuestion, ProposedQuestion]
    num_excluded: int


def generate_pair(seed: int, index: int) -> CounterfactualPair:
    """Return pair number `index` of a seed. The pair depends only on seed and index."""
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
    """Return a question that has an answer in `here` and no answer in `there`, and the number of excluded
    questions.

    The question is None if none was found.
    """
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
    """Return whether the independent check of the truth finds an answer in `here` and no answer in `there`."""
    try:
        obstacles = [find_obstacle(question.program, scene, WORD_SENSES) for scene in (here, there)]
    except Unclear:
        return False
    return obstacles[0] is None and obstacles[1] is not None


def _mentions(question: ProposedQuestion, object_id: str) -> bool:
    return any(f"({object_id})" in step.argument for step in question.program)
