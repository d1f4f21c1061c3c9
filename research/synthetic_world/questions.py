"""Generate questions about complete scenes, in GQA's schema: text, program, answer, entailed and equivalent
questions.

The questions about an image depend only on the seed and on the scene of the image. Types are sampled in GQA's
proportions, yes and no with equal probability. Every answer follows from the complete graph, and every "the"
has one unambiguous referent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipeline.core.randomness import make_generator
from pipeline.core.records import Question, SceneGraph
from research.synthetic_world.ontology import INDOORS
from research.synthetic_world.program_builder import to_semantic_string
from research.synthetic_world.question_families import (
    attributes,
    comparisons,
    existence,
    naming,
    positions,
    relations,
)
from research.synthetic_world.question_families import scene as whole
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.random_choice import choose_key
from research.synthetic_world.references import Fact
from research.synthetic_world.scene_index import ANTONYMS, SceneIndex

Family = Callable[[QuestionGenerator], ProposedQuestion | None]
# (family, rate, maximum per image). The rates follow GQA's balanced questions. Where a scene has no question
# of a family, another family is sampled, so rare families have higher rates here than among the questions.
_FAMILIES: tuple[tuple[Family, float, int], ...] = (
    (attributes.query_attribute, 17, 4),
    (attributes.verify_attribute, 5.5, 2),
    (attributes.choose_attribute, 5.5, 2),
    (attributes.verify_two_attributes, 8, 2),
    (positions.query_position, 2.5, 1),
    (positions.verify_position, 1.5, 1),
    (positions.choose_position, 1.5, 1),
    (naming.query_category, 3, 1),
    (naming.query_category_with_attribute, 5, 2),
    (naming.query_name, 6, 2),
    (naming.query_who, 1.8, 1),
    (naming.choose_kind, 4, 1),
    (relations.query_subject, 10, 2),
    (relations.query_object, 5, 2),
    (relations.query_category_subject, 6, 2),
    (relations.query_category_object, 4, 1),
    (relations.verify_relation, 7, 2),
    (relations.choose_relation, 5, 1),
    (existence.exists_name, 1, 1),
    (existence.exists_attribute, 4, 2),
    (existence.exists_relation, 3, 1),
    (existence.exists_two, 2, 1),
    (existence.exists_attribute_of_either, 3, 1),
    (comparisons.verify_both, 2, 1),
    (comparisons.compare, 5.5, 1),
    (comparisons.query_common, 2.5, 1),
    (whole.query_place, 1.2, 1),
    (whole.query_weather, 1, 1),
    (whole.verify_scene, 1.2, 1),
    (whole.choose_scene, 1.2, 1),
)
FAMILY_RATES = {family: share for family, share, _ in _FAMILIES}
MAX_PER_FAMILY = {family: most for family, _, most in _FAMILIES}
# Maximum number of attempts per question. After that, the image gets fewer questions.
MAX_ATTEMPTS = 60
# Maximum number of questions about one object.
MAX_SAME_TARGET = 3
# Maximum number of words of a question. Questions in GQA have at most 25 words.
MAX_WORDS = 22
# Proportion of images for which a second wording of one question is tried.
REPHRASE_RATE = 0.4

# GQA's detailed types: (structural, semantic) -> names. A final C is the variant with the answer "no".
_TYPES = {
    ("query", "attr"): "directWhich directOf how material activity positionQuery",
    ("query", "cat"): "category categoryThis categoryThat categoryAttr activityWho",
    ("query", "rel"): "relS relO categoryRelS categoryRelO",
    ("query", "global"): "place weather",
    ("verify", "attr"): "verifyAttr verifyAttrC verifyAttrK verifyAttrKC materialVerify materialVerifyC "
    "positionVerify positionVerifyC",
    ("verify", "rel"): "relVerify relVerifyCr relVerifyCop existRelS existRelSC existRelSRC",
    ("verify", "obj"): "exist existC existAttr existAttrC existThat existThatC existMaterial existMaterialC "
    "existThatNot existThatNotC",
    ("verify", "global"): "locationVerify locationVerifyC weatherVerify weatherVerifyC placeVerify "
    "placeVerifyC",
    ("choose", "attr"): "chooseAttr activityChoose materialChoose positionChoose",
    ("choose", "rel"): "relChooser categoryRelSChoose categoryRelOChoose",
    ("choose", "cat"): "categoryThisChoose categoryThatChoose",
    ("choose", "global"): "locationChoose weatherChoose placeChoose",
    ("logical", "obj"): "existAnd existAndC existOr existOrC existAttrOr existAttrOrC existThatOr "
    "existThatOrC",
    ("logical", "attr"): "verifyAttrs verifyAttrsC verifyAttrAnd verifyAttrAndC",
    ("compare", "attr"): "twoSame twoSameC twoDifferent twoDifferentC twoSameMaterial twoSameMaterialC "
    "twoCommon",
}
TYPES: dict[str, tuple[str, str]] = {name: kind for kind, names in _TYPES.items() for name in names.split()}


class SampleQuestion(Question, frozen=True, kw_only=True):
    """A question together with GQA's annotations of its answer."""

    answer_annotations: dict[str, str]


def generate_questions(scenes: Sequence[SceneGraph], seed: int, per_image: int = 12) -> list[SampleQuestion]:
    """Generate questions about every scene, in the order of the scenes. The id of a question is the digits
    of the image id and two more digits.

    Args:
        scenes: Complete scene graphs.
        seed: Random seed.
        per_image: Number of questions for each scene.

    Raises:
        ValueError: A scene graph is not complete, so facts that it does not list may hold.
    """
    incomplete = [scene.image_id for scene in scenes if not scene.is_complete]
    if incomplete:
        raise ValueError(f"questions need complete scenes; not complete: {', '.join(incomplete[:10])}")
    return [question for scene in scenes for question in _generate_for_scene(scene, seed, per_image)]


def _generate_for_scene(scene: SceneGraph, seed: int, count: int) -> list[SampleQuestion]:
    chosen = _sample_proposals(
        QuestionGenerator(SceneIndex(scene), make_generator(seed, "questions", scene.image_id)), count
    )
    prefix = "".join(character for character in scene.image_id if character.isdigit())
    numbered = {f"{prefix}{number:02d}": proposal for number, proposal in enumerate(chosen)}
    return [
        to_question(
            i,
            scene,
            proposal,
            entailed=tuple(j for j, other in numbered.items() if j != i and is_entailed(proposal, other)),
            equivalent=(
                i,
                *(j for j, other in numbered.items() if j != i and _is_same_question(proposal, other)),
            ),
        )
        for i, proposal in numbered.items()
    ]


def to_question(
    question_id: str,
    scene: SceneGraph,
    proposal: ProposedQuestion,
    entailed: tuple[str, ...] = (),
    equivalent: tuple[str, ...] = (),
) -> SampleQuestion:
    """Convert a proposal to a question about the image.

    `entailed` and `equivalent` are ids of questions about this image.
    """
    return SampleQuestion(
        question_id=question_id,
        image_id=scene.image_id,
        split=scene.split,
        text=proposal.text,
        answer=proposal.answer,
        full_answer=proposal.full_answer,
        structural=TYPES[proposal.detailed][0],
        semantic=TYPES[proposal.detailed][1],
        detailed=proposal.detailed,
        group_global=proposal.group_global,
        group_local=proposal.group_local,
        program=proposal.program,
        annotations=proposal.question_marks,
        answer_annotations=proposal.answer_marks,
        full_answer_annotations=proposal.full_marks,
        entailed=entailed,
        equivalent=equivalent,
    )


def _sample_proposals(ask: QuestionGenerator, count: int) -> list[ProposedQuestion]:
    """Sample families by their rates until there are `count` questions with different texts and topics."""
    chosen: list[ProposedQuestion] = []
    used: Counter[Any] = Counter()
    for _ in range(count * MAX_ATTEMPTS):
        if len(chosen) == count:
            break
        family = choose_key(ask.rng, FAMILY_RATES)
        proposal = family(ask) if used[family] < MAX_PER_FAMILY[family] else None
        if (
            proposal is None
            or not is_short(proposal)
            or used["text", proposal.text]
            or used["topic", proposal.topic]
        ):
            continue
        if proposal.target and used["target", proposal.target] >= MAX_SAME_TARGET:
            continue
        chosen.append(proposal)
        used.update([family, ("text", proposal.text), ("topic", proposal.topic), ("target", proposal.target)])
        if len(chosen) == 1 and count > 1 and ask.is_chosen(REPHRASE_RATE):
            chosen += _rephrase(ask, family, proposal)
    return chosen


def _rephrase(ask: QuestionGenerator, family: Family, first: ProposedQuestion) -> list[ProposedQuestion]:
    """Return the same question in other words, if a few attempts with its family find one."""
    again = (family(ask) for _ in range(MAX_ATTEMPTS // 2))
    return next(
        (
            [other]
            for other in again
            if other and other.text != first.text and _is_same_question(first, other) and is_short(other)
        ),
        [],
    )


def is_short(proposal: ProposedQuestion) -> bool:
    """Return whether a question has at most `MAX_WORDS` words."""
    return len(proposal.text.split()) <= MAX_WORDS


def _is_same_question(first: ProposedQuestion, second: ProposedQuestion) -> bool:
    """Return whether two questions ask the same about the same objects."""
    alike = (first.topic, first.answer) == (second.topic, second.answer)
    return alike and is_entailed(first, second) and is_entailed(second, first)


def is_entailed(first: ProposedQuestion, second: ProposedQuestion) -> bool:
    """Return whether the answer to the second question follows from the answer to the first and its
    presuppositions.

    As in GQA, objects are identified by their ids, whatever the second question calls them.
    """
    known = _close_facts(first.asserted_facts)
    return any(needed <= known for needed in second.required_facts)


def _close_facts(facts: Iterable[Fact]) -> set[Fact]:
    """Return the facts and all facts that follow from them: inverse relations, existence from a name, indoors
    from a kitchen.
    """
    known = set(facts)
    for fact in facts:
        match fact:
            case ("rel", a, name, b) if name in ANTONYMS:
                opposite = ANTONYMS[name]
                known |= {("rel", b, opposite, a), ("no rel", a, opposite, b), ("no rel", b, name, a)}
            case ("name", _, name):
                known.add(("some", name))
            case ("place", name):
                known.add(("location", "indoors" if name in INDOORS else "outdoors"))
            case ("weather", _):
                known.add(("location", "outdoors"))
    return known


def to_gqa(question: SampleQuestion) -> dict[str, Any]:
    """Convert a question to an entry of GQA's question files. The key of the entry is the question id."""
    return {
        "imageId": question.image_id,
        "question": question.text,
        "answer": question.answer,
        "fullAnswer": question.full_answer,
        "isBalanced": question.balanced,
        "groups": {"global": question.group_global or None, "local": question.group_local},
        "types": {
            "detailed": question.detailed,
            "semantic": question.semantic,
            "structural": question.structural,
        },
        "semantic": [
            {"operation": step.operation, "argument": step.argument, "dependencies": list(step.dependencies)}
            for step in question.program
        ],
        "semanticStr": to_semantic_string(question.program),
        "annotations": {
            "question": question.annotations,
            "answer": question.answer_annotations,
            "fullAnswer": question.full_answer_annotations,
        },
        "entailed": list(question.entailed),
        "equivalent": list(question.equivalent),
    }
