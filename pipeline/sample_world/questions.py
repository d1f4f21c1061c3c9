"""Questions about complete scenes, in GQA's schema: text, program, answer, entailed and equivalent questions.

A picture's questions depend on the seed and on its own scene alone. Types are drawn in GQA's proportions, yes and
no by the toss of a coin. Every answer follows from the complete graph; every "the" has one clear referent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pipeline.core.randomness import generator
from pipeline.core.records import Question, Scene, Step
from pipeline.sample_world import checks, choices, queries
from pipeline.sample_world.ontology import INDOORS, PLACES
from pipeline.sample_world.proposals import TYPES, Asker, Proposal
from pipeline.sample_world.references import ANTONYMS, Fact, View

Family = Callable[[Asker], Proposal | None]
# Shares of the families of questions, after the proportions of GQA's balanced questions, and how many of a family
# a picture may have. A family that a scene has no question for is drawn anew, so rare ones have larger shares.
FAMILIES: tuple[tuple[Family, float, int], ...] = (
    (queries.attribute, 17, 4), (queries.position, 3, 1), (queries.category, 3, 1), (queries.category_that, 5, 2),
    (queries.category_called, 6, 2), (queries.who_is, 3, 1), (queries.related_subject, 9, 2),
    (queries.related_object, 5, 2), (queries.category_related, 9, 2), (queries.place, 1.5, 1), (queries.weather, 1.2, 1),
    (checks.verify_attribute, 5, 2), (checks.verify_position, 1.5, 1), (checks.verify_relation, 6, 2),
    (checks.exists, 5, 2), (checks.exists_related, 4, 1), (checks.verify_scene, 1.5, 1),
    (choices.choose_attribute, 6, 2), (choices.choose_position, 1.5, 1), (choices.choose_relation, 5, 1),
    (choices.choose_kind, 3.5, 1), (choices.choose_scene, 1.5, 1),
    (choices.exists_two, 3, 1), (choices.exists_either, 4, 1), (choices.verify_attributes, 8, 2), (choices.verify_both, 2, 1),
    (choices.compare, 4, 1), (choices.common, 1.5, 1),
)
ATTEMPTS = 60  # draws per question before a picture is left with fewer
SAME_TARGET = 3  # questions about one object, at most
REPHRASED = 0.3  # share of pictures in which one question is asked again in other words


class SampleQuestion(Question):
    """A question together with GQA's annotations of its answer and its full answer."""

    answer_annotations: dict[str, str] = {}
    full_answer_annotations: dict[str, str] = {}


def questions(scenes: Sequence[Scene], seed: int, per_picture: int = 12) -> list[SampleQuestion]:
    """Questions of every scene, in the order of the scenes; ids are the picture's digits and two more.

    Raises:
        ValueError: a scene is not complete, so that what is not listed may still be there.
    """
    incomplete = [scene.picture_id for scene in scenes if not scene.complete]
    if incomplete:
        raise ValueError(f"questions need complete scenes; not complete: {', '.join(incomplete[:10])}")
    return [question for scene in scenes for question in _of_scene(scene, seed, per_picture)]


def _of_scene(scene: Scene, seed: int, count: int) -> list[SampleQuestion]:
    ask = Asker(View(scene), generator(seed, "questions", scene.picture_id))
    chosen = _draw(ask, count)
    prefix = "".join(c for c in scene.picture_id if c.isdigit())
    ids = [f"{prefix}{number:02d}" for number in range(len(chosen))]
    entailed = {i: [j for j, other in zip(ids, chosen) if j != i and entails(one, other)] for i, one in zip(ids, chosen)}
    return [
        SampleQuestion(
            question_id=i, picture_id=scene.picture_id, split=scene.split, text=one.text, answer=one.answer,
            full_answer=one.full_answer, balanced=True, structural=TYPES[one.detailed][0],
            semantic=TYPES[one.detailed][1], detailed=one.detailed, group_global=one.group_global, group_local=one.group_local,
            program=one.program, annotations=one.marks, entailed=tuple(entailed[i]),
            equivalent=(i, *(j for j, other in zip(ids, chosen) if j != i and other.topic == one.topic and other.answer == one.answer)),
            answer_annotations=one.answer_marks, full_answer_annotations=one.full_marks)
        for i, one in zip(ids, chosen)
    ]


def _draw(ask: Asker, count: int) -> list[Proposal]:
    """Draw families by their shares until there are `count` questions that differ in text, topic and mostly in target."""
    shares = [share / sum(share for _, share, _ in FAMILIES) for _, share, _ in FAMILIES]
    rephrase = ask.chance(REPHRASED)
    chosen: list[Proposal] = []
    used: Counter[Any] = Counter()
    for _ in range(count * ATTEMPTS):
        if len(chosen) == count:
            break
        family, _, most = FAMILIES[int(ask.rng.choice(len(FAMILIES), p=shares))]
        found = family(ask) if used[family] < most else None
        if found is None or used["text", found.text] or used["target", found.target] >= SAME_TARGET and found.target:
            continue
        if used["topic", found.topic]:
            if not rephrase:
                continue
            rephrase = False
        chosen.append(found)
        used.update([family, ("text", found.text), ("target", found.target), ("topic", found.topic)])
    return chosen


def entails(one: Proposal, other: Proposal) -> bool:
    """Whether whoever knows the answer to the first question (and what it presupposes) knows the other's.

    Objects are told apart by id, as in GQA: however the other question refers to an object, it is the same object."""
    known = _closure(one.asserts)
    return any(needed <= known for needed in other.needs)


def _closure(facts: Iterable[Fact]) -> set[Fact]:
    """The facts and what follows from each: converses of relations, existence from a name, indoors from a kitchen."""
    known = set(facts)
    for fact in facts:
        match fact:
            case ("rel", a, name, b):
                if name in ANTONYMS:
                    known.add(("rel", b, ANTONYMS[name], a))
            case ("name", _, name):
                known.add(("some", name))
            case ("place", name) if name in PLACES:
                known.add(("location", "indoors" if name in INDOORS else "outdoors"))
            case ("weather", _):
                known.add(("location", "outdoors"))
            case ("same", "color" | "material" as kind, a, b):
                known.add(("same", kind, a, b))
    return known


def to_gqa(question: SampleQuestion) -> dict[str, Any]:
    """The question as an entry of GQA's question files (its key is the question's id)."""
    return {
        "imageId": question.picture_id,
        "question": question.text,
        "answer": question.answer,
        "fullAnswer": question.full_answer,
        "isBalanced": question.balanced,
        "groups": {"global": question.group_global or None, "local": question.group_local},
        "types": {"detailed": question.detailed, "semantic": question.semantic, "structural": question.structural},
        "semantic": [{"operation": s.operation, "argument": s.argument, "dependencies": list(s.dependencies)}
                     for s in question.program],
        "semanticStr": semantic_string(question.program),
        "annotations": {"question": question.annotations, "answer": question.answer_annotations,
                        "fullAnswer": question.full_answer_annotations},
        "entailed": list(question.entailed),
        "equivalent": list(question.equivalent),
    }


def semantic_string(program: Sequence[Step]) -> str:
    """`select: furniture (17)->filter color: brown [0]->query: name [1]`."""
    return "->".join(
        f"{s.operation}: {s.argument}" + (f" [{', '.join(map(str, s.dependencies))}]" if s.dependencies else "")
        for s in program)
