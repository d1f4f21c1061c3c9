"""Propose questions about relations: which object has a relation, whether it holds, which of two opposite
relations holds.
"""

from __future__ import annotations

from research.synthetic_world.ontology import KIND_BY_NAME
from research.synthetic_world.phrasing import CATEGORY_KINDS, VERBS, get_category, make_phrase
from research.synthetic_world.program_builder import add_step
from research.synthetic_world.question_families.naming import propose_naming
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator
from research.synthetic_world.scene_index import ANTONYMS, VAGUE_RELATIONS

# Slots of the templates: {x} and {y} are the subject and the object of the relation, described as in "the
# wooden table". {n} and {m} are the same or other objects in the full answer, with "the" before the name. {k}
# and {c} stand for a category ("kind of furniture", "piece of furniture"), {u} and {v} for the two options of a
# question. The argument `local` is GQA's local group: the number of the template and the words that the
# questions of the group share.

# Relation -> GQA's short form in answers.
_ANSWERS = {"to the left of": "left", "to the right of": "right", "in front of": "front"}
_SPATIAL_RELATIONS = ("to the left of", "to the right of", "above", "below")


def query_subject(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Who is wearing the striped shirt?" or "What is on the wooden table?"."""
    triple = ask.choose_relation(
        lambda a, name, b: name not in VAGUE_RELATIONS and _is_informative(ask, a, name, b)
    )
    if triple is None:
        return None
    object_id, relation, landmark = triple
    who, noun = _question_word(ask, object_id)
    if ask.scene_index.find_related(noun, relation, landmark, "s", strict=False) != [object_id]:
        return None
    y = ask.make_reference(landmark, avoid=(object_id,))
    if y is None:
        return None
    said, does, _ = VERBS.get(relation, (relation, f"can be seen {relation}", ""))
    templates = (
        f"{who} is {said} {{y}}",
        f"{who} is {said} {{y}}",
        f"{who} do you think is {said} {{y}}",
        f"{who} {does} {{y}}",
    )
    return propose_naming(
        ask,
        "relS",
        templates,
        add_step(y.program, "relate", f"{noun},{relation},s ({object_id})"),
        object_id,
        slots={"y": y.the, "m": ask.make_definite(landmark)},
        full=f"{{n}} [is|are] {said} {{m}}",
        facts={*y.facts, ("rel", object_id, relation, landmark)},
        local=f"14-{ask.scene_index.get_name(landmark)}_{relation},s",
        topic=("subject", relation, landmark),
    )


def query_object(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What is the boy holding?" or "What is the cat on?"."""
    triple = ask.choose_relation(
        lambda a, relation, b: relation not in (*VAGUE_RELATIONS, *_SPATIAL_RELATIONS)
    )
    if triple is None:
        return None
    subject, relation, object_id = triple
    who, noun = _question_word(ask, object_id)
    if ask.scene_index.find_related(noun, relation, subject, "o", strict=False) != [object_id]:
        return None
    x = ask.make_reference(subject, avoid=(object_id,), hide=_pose_types(relation))
    if x is None:
        return None
    said, _, bare = VERBS.get(relation, (relation, "", ""))
    templates = (
        f"{who} [is|are] {{x}} {said}",
        f"{who} [is|are] {{x}} {said}",
        f"{who} do you think {{x}} [is|are] {said}",
        f"{{x}} [is|are] {said} {who.lower()}",
    )
    if bare:
        templates += (f"{who} [does|do] {{x}} {bare}",)
    return propose_naming(
        ask,
        "relO",
        templates,
        add_step(x.program, "relate", f"{noun},{relation},o ({object_id})"),
        object_id,
        slots={"x": x.the, "m": ask.make_definite(subject)},
        full=f"{{m}} [is|are] {said} {{n}}",
        facts={*x.facts, ("rel", subject, relation, object_id)},
        local=f"14-{ask.scene_index.get_name(subject)}_{relation},o",
        topic=("object", relation, subject),
    )


def query_category_subject(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What kind of furniture is to the right of the plant?"."""
    triple = ask.choose_relation(
        lambda a, relation, b: (
            relation not in VAGUE_RELATIONS
            and _is_informative(ask, a, relation, b)
            and get_category(ask.scene_index.get_name(a)) in CATEGORY_KINDS
        )
    )
    if triple is None:
        return None
    object_id, relation, landmark = triple
    category = get_category(ask.scene_index.get_name(object_id))
    if ask.scene_index.find_related(category, relation, landmark, "s", strict=False) != [object_id]:
        return None
    y = ask.make_reference(landmark, avoid=(object_id,))
    if y is None:
        return None
    said = VERBS.get(relation, (relation,))[0]
    templates = (
        f"<What/Which> {{k}} is {said} {{y}}",
        f"<What/Which> {{k}} is {said} {{y}}",
        f"What is the {{c}} {said} {{y}} called",
        f"What is the {{c}} that is {said} {{y}}",
    )
    program = add_step(y.program, "relate", f"{category},{relation},s ({object_id})")
    return propose_naming(
        ask,
        "categoryRelS",
        templates,
        program,
        object_id,
        category=category,
        slots={"y": y.the},
        facts={*y.facts, ("rel", object_id, relation, landmark)},
        local=f"15-{ask.scene_index.get_name(landmark)}_{relation},s",
        topic=("of category", relation, landmark, category),
    )


def query_category_object(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    What fruit is the girl holding?
    What is the piece of furniture the cat is on called?
    """
    triple = ask.choose_relation(
        lambda a, relation, b: (
            relation not in (*VAGUE_RELATIONS, *_SPATIAL_RELATIONS)
            and get_category(ask.scene_index.get_name(b)) in CATEGORY_KINDS
        )
    )
    if triple is None:
        return None
    subject, relation, object_id = triple
    category = get_category(ask.scene_index.get_name(object_id))
    if ask.scene_index.find_related(category, relation, subject, "o", strict=False) != [object_id]:
        return None
    x = ask.make_reference(subject, avoid=(object_id,), hide=_pose_types(relation))
    if x is None:
        return None
    be, said = "are" if x.is_plural else "is", VERBS.get(relation, (relation,))[0]
    templates = (
        f"<What/Which> {{k}} {be} {{x}} {said}",
        f"<What/Which> {{k}} {be} {{x}} {said}",
        f"What is the {{c}} that {{x}} {be} {said}",
        f"What is the {{c}} {{x}} {be} {said} called",
    )
    program = add_step(x.program, "relate", f"{category},{relation},o ({object_id})")
    return propose_naming(
        ask,
        "categoryRelO",
        templates,
        program,
        object_id,
        category=category,
        slots={"x": x.the, "m": ask.make_definite(subject)},
        full=f"{{m}} [is|are] {said} {{n}}",
        facts={*x.facts, ("rel", subject, relation, object_id)},
        local=f"15-{ask.scene_index.get_name(subject)}_{relation},o",
        topic=("of category", relation, subject, category),
    )


def verify_relation(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    Is the person that is wearing the hat to the left of the red car?
    Is the woman holding the umbrella?
    """
    triple = ask.choose_relation(
        lambda a, name, b: name not in VAGUE_RELATIONS and _is_informative(ask, a, name, b)
    )
    if triple is None:
        return None
    a, relation, true = triple
    # Scenes rarely offer a plausible false object, so "no" is tried more often.
    yes = ask.is_chosen(0.5 if relation in ANTONYMS else 0.3)
    said, b = (relation, true) if yes else _false_relation(ask, *triple)
    if b is None:
        return None
    # The program describes only one of the two objects, so the question names the other object without a
    # description.
    plain, rich, role = (a, b, "s") if ask.is_chosen(0.5) else (b, a, "o")
    p, x = (
        ask.make_reference(plain, plain=True),
        ask.make_reference(rich, avoid=(plain,), hide=_pose_types(relation)),
    )
    if p is None or x is None:
        return None
    subject, other = (p, x) if role == "s" else (x, p)
    # Otherwise, the relation could also belong to the last noun of the subject's description.
    if not subject.ends_clearly:
        return None
    ing, _, bare = VERBS.get(said, (said, "", ""))
    templates = (
        f"[Is|Are] {{x}} {ing} {{y}}",
        f"[Is|Are] {{x}} {ing} {{y}}",
        f"[Does|Do] {{x}} {bare} {{y}}" if bare else f"Do you think {{x}} [is|are] {said} {{y}}",
    )
    known, not_known = ("rel", a, relation, true), ("no rel", a, said, b)
    return ask.make_proposal(
        "relVerify" if yes else "relVerifyCr" if relation in ANTONYMS else "relVerifyCop",
        templates,
        add_step(x.program, "verify rel", f"{p.noun},{said},{role} ({plain})"),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, {{n}} [is|are] {relation} {{m}}",
        slots={"x": subject.the, "y": other.the, "n": ask.make_definite(a), "m": ask.make_definite(true)},
        local=f"13-{ask.scene_index.get_name(b)}_{ask.scene_index.get_name(a)}",
        asserts={*x.facts, *p.facts, known if yes else not_known},
        needs=[{known}] if yes else [{not_known}, *([{known}] if relation in ANTONYMS else [])],
        target=a,
        topic=("verify", a, said, b),
    )


def choose_relation(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Is the bag to the left or to the right of the woman that is wearing the
    hat?".
    """
    triple = ask.choose_relation(
        lambda a, relation, b: relation in ANTONYMS and _is_informative(ask, a, relation, b)
    )
    if triple is None:
        return None
    a, relation, b = triple
    p, y = ask.make_reference(a, plain=True), ask.make_reference(b, avoid=(a,))
    if p is None or y is None:
        return None
    first_said, second_said = (
        (relation, ANTONYMS[relation]) if ask.is_chosen(0.5) else (ANTONYMS[relation], relation)
    )
    # In "to the left or to the right of the woman", the common end of both options is written only once.
    first = first_said.removesuffix(" of") if second_said.endswith(" of") else first_said
    fact = ("rel", a, relation, b)
    templates = ("[Is|Are] {x} {u} or {v} {y}",) * 3 + ("Do you think {x} [is|are] {u} or {v} {y}",)
    program = add_step(y.program, "choose rel", f"{p.noun},{first_said}|{second_said},s ({a})")
    return ask.make_proposal(
        "relChooser",
        templates,
        program,
        _ANSWERS.get(relation, relation),
        f"{{n}} [is|are] {relation} {{m}}",
        slots={
            "x": p.the,
            "y": y.the,
            "u": make_phrase(first),
            "v": make_phrase(second_said),
            "n": ask.make_definite(a),
            "m": ask.make_definite(b),
        },
        local=f"13-{ask.scene_index.get_name(b)}_{ask.scene_index.get_name(a)}",
        asserts={*y.facts, *p.facts, fact},
        needs=[{fact}],
        target=a,
        topic=("choose relation", a, b),
    )


def _is_informative(ask: QuestionGenerator, a: str, relation: str, b: str) -> bool:
    """Return whether a relation is informative. (It is not informative that a man is below his hat.)"""
    return relation in VERBS or not ask.scene_index.is_held_together(a, b)


def _question_word(ask: QuestionGenerator, object_id: str) -> tuple[str, str]:
    """Return the question word for the object, and the program's noun: "person", or "_" for any object."""
    return (
        ("Who", "person")
        if KIND_BY_NAME[ask.scene_index.get_name(object_id)].category == "person"
        else ("What", "_")
    )


def _pose_types(relation: str) -> tuple[str, ...]:
    """Return attribute types that the question must not mention: nobody asks what the sitting woman is
    sitting on.
    """
    return ("pose",) if relation == "sitting on" else ()


def _false_relation(ask: QuestionGenerator, a: str, relation: str, b: str) -> tuple[str, str | None]:
    """Return a similar relation that does not hold: the opposite relation, or the same relation with another
    object.
    """
    if relation in ANTONYMS:
        return ANTONYMS[relation], b
    return relation, ask.choose_object(
        lambda j: (
            j not in (a, b)
            and (a, relation, j) not in ask.scene_index.relations
            and any(
                name == relation and role == "o" for name, _, role in ask.scene_index.relations_by_object[j]
            )
        )
    )
