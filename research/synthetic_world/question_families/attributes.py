"""Propose questions about an attribute of one object: open questions, yes-no questions, and choices of two
options.
"""

from __future__ import annotations

from research.synthetic_world.ontology import ATTRIBUTE_TYPES
from research.synthetic_world.phrasing import make_phrase, to_predicate
from research.synthetic_world.program_builder import add_joining_step, add_step, typed_operation
from research.synthetic_world.question_proposals import ProposedQuestion, QuestionGenerator

_OPEN_RATES = {"color": 0.48, "material": 0.22, "size": 0.12, "pose": 0.10, "pattern": 0.05, "age": 0.03}
_CLOSED_ODDS = {"color": 4, "material": 2} | dict.fromkeys(
    ("size", "pattern", "openness", "light", "fullness", "pose", "age"), 1
)
# Attribute types, in the order in which two attributes of an object are named ("large and red", "red and made
# of wood").
_COMBINABLE_ATTRIBUTES = ("size", "age", "openness", "fullness", "color", "pattern", "material")
# Attribute types that are used with "looks" ("looks red"). Other attributes are used with "appears to be".
_LOOKING_ATTRIBUTES = ("color", "pattern", "size", "age", "fullness")

# Attribute type -> (detailed type, templates).
_OPEN: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "color": (
        (
            "directOf",
            (
                "What color [is|are] {x}",
                "What color [is|are] {x}",
                "What is the color of {x}",
                "Of what color [is|are] {x}",
                "{x} [is|are] of what color",
                "{x} [has|have] what color",
                "What color [does|do] {x} have",
                "What color do you think {x} [is|are]",
            ),
        ),
        (
            "directWhich",
            (
                "Which color [is|are] {x}",
                "Which color [is|are] {x}",
                "Of which color [is|are] {x}",
                "Which color [does|do] {x} have",
                "{x} [has|have] which color",
                "Which color do you think {x} [is|are]",
            ),
        ),
    ),
    "pattern": (
        (
            "directOf",
            ("What is the pattern of {x}", "What pattern [does|do] {x} have", "{x} [has|have] what pattern"),
        ),
        ("directWhich", ("Which pattern [does|do] {x} have", "Which pattern is on {x}")),
    ),
    "size": (
        ("how", ("How big [is|are] {x}", "How large [is|are] {x}", "How big do you think {x} [is|are]")),
        ("directOf", ("What size [is|are] {x}", "What is the size of {x}")),
    ),
    "age": (("how", ("How old [is|are] {x}", "How old do you think {x} [is|are]")),),
    "pose": (("activity", ("What [is|are] {x} doing", "What do you think {x} [is|are] doing")),),
    "material": (
        (
            "material",
            (
                "What [is|are] {x} made of",
                "What [is|are] {x} made of",
                "What material [is|are] {x} made of",
                "Which material [is|are] {x} made of",
                "What is the material of {x}",
                "What <kind/type> of material [is|are] {x} made of",
                "What material makes up {x}",
                "Which <kind/type> of material is used to make {x}",
                "What is used to make {x}",
                "What do you think {x} [is|are] made of",
                "{x} [is|are] made of what material",
            ),
        ),
    ),
}


def query_attribute(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "What color is the cup on the table?"."""
    attribute = ask.choose_attribute(_OPEN_RATES)
    if attribute is None:
        return None
    i, kind = attribute
    x = ask.make_reference(i, hide=(kind,))
    if x is None:
        return None
    value, name = ask.scene_index.attributes[i][kind], ask.scene_index.get_name(i)
    detailed, templates = ask.choose(_OPEN[kind])
    fact = ("attr", i, value)
    return ask.make_proposal(
        detailed,
        templates,
        add_step(x.program, "query", kind),
        value,
        "{n} [is|are] {t}",
        slots={"x": x.the, "n": ask.make_definite(i), "t": make_phrase(to_predicate(value))},
        group=kind,
        local=f"10q-{name}_{kind}",
        asserts={*x.facts, fact},
        needs=[{fact}],
        target=i,
        topic=("query", kind, i),
    )


def verify_attribute(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Does the shirt to the left of the tree look striped?" or "Is the cabinet
    open?".
    """
    attribute = ask.choose_attribute(_CLOSED_ODDS)
    if attribute is None:
        return None
    (i, kind), yes = attribute, ask.is_chosen(0.5)
    true = ask.scene_index.attributes[i][kind]
    value, x = true if yes else ask.choose_wrong_value(i, kind), ask.make_reference(i, hide=(kind,))
    if x is None or value is None:
        return None
    if kind == "material":
        detailed = "materialVerify"
        templates = (
            "[Is|Are] {x} made of {v}",
            "[Is|Are] {x} made of {v}",
            "[Is|Are] {x} made out of {v}",
            "Do you think {x} [is|are] made of {v}",
        )
    elif ask.is_chosen(0.35):
        detailed = "verifyAttrK"
        templates = (
            "[Does|Do] {x} look {p}" if kind in _LOOKING_ATTRIBUTES else "[Does|Do] {x} appear to be {p}",
        )
        if kind in ("color", "pattern"):
            templates += (f"[Does|Do] {{x}} have {'a ' if kind == 'pattern' else ''}{{v}} {kind}",)
    else:
        detailed = "verifyAttr"
        templates = ("[Is|Are] {x} {p}",) * 3 + ("Do you think {x} [is|are] {p}",)
        if kind == "color":
            templates += ("Is the color of {x} {v}",)
    fact, other = ("attr", i, true), ("not", i, value)
    return ask.make_proposal(
        detailed + "C" * (not yes),
        templates,
        add_step(x.program, typed_operation("verify", value), value),
        "yes" if yes else "no",
        f"{'Yes' if yes else 'No'}, {{n}} [is|are] {{t}}",
        slots={
            "x": x.the,
            "n": ask.make_definite(i),
            "v": make_phrase(value),
            "p": make_phrase(to_predicate(value, ask.rng)),
            "t": make_phrase(to_predicate(true)),
        },
        local=f"06-{ask.scene_index.get_name(i)}_{value}",
        asserts={*x.facts, fact if yes else other},
        needs=[{fact}] if yes else [{fact}, {other}],
        target=i,
        topic=("verify", i, value),
    )


def choose_attribute(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as:

    Is the cup on the table red or blue?
    What is the large chair made of, wood or metal?
    """
    attribute = ask.choose_attribute(_CLOSED_ODDS)
    if attribute is None:
        return None
    i, kind = attribute
    true, other, x = (
        ask.scene_index.attributes[i][kind],
        ask.choose_wrong_value(i, kind),
        ask.make_reference(i, hide=(kind,)),
    )
    if x is None or other is None:
        return None
    first, second = (true, other) if ask.is_chosen(0.5) else (other, true)
    fact = ("attr", i, true)
    detailed = {"material": "materialChoose", "pose": "activityChoose"}.get(kind, "chooseAttr")
    program = add_step(x.program, typed_operation("choose", true), f"{first}|{second}")
    return ask.make_proposal(
        detailed,
        _choice_templates(kind),
        program,
        true,
        "{n} [is|are] {t}",
        slots={
            "x": x.the,
            "n": ask.make_definite(i),
            "u": make_phrase(first),
            "v": make_phrase(second),
            "t": make_phrase(to_predicate(true)),
        },
        group=kind,
        local=f"10c-{ask.scene_index.get_name(i)}_{kind}",
        asserts={*x.facts, fact},
        needs=[{fact}],
        target=i,
        topic=("choose", kind, i),
    )


def _choice_templates(kind: str) -> tuple[str, ...]:
    """Return templates that offer two values {u} and {v} of an attribute type."""
    plain = ("[Is|Are] {x} {u} or {v}",)
    if kind == "material":
        return (
            "[Is|Are] {x} made of {u} or {v}",
            "[Is|Are] {x} made of {u} or {v}",
            "What [is|are] {x} made of, {u} or {v}",
            "Which material [is|are] {x} made of, {u} or {v}",
            "What material [is|are] {x} made of, {u} or {v}",
        )
    if kind == "pose":
        return (*plain, "What [is|are] {x} doing, {u} or {v}")
    if kind == "light":
        return (*plain, "[Is|Are] {x} turned {u} or {v}")
    if kind == "openness":
        return (*plain, *plain, "Do you think {x} [is|are] {u} or {v}")
    looks = (
        *plain,
        *plain,
        "Do you think {x} [is|are] {u} or {v}",
        "[Does|Do] {x} look {u} or {v}",
        "How [does|do] {x} look, {u} or {v}",
    )
    if kind == "color":
        looks += ("Which color [is|are] {x}, {u} or {v}", "What color [is|are] {x}, {u} or {v}")
    return looks


def verify_two_attributes(ask: QuestionGenerator) -> ProposedQuestion | None:
    """Propose a question such as "Is the chair to the left of the table red and made of wood?"."""
    i = ask.choose_object(lambda j: len(set(_COMBINABLE_ATTRIBUTES) & set(ask.scene_index.attributes[j])) > 1)
    if i is None:
        return None
    true = [
        ask.scene_index.attributes[i][kind]
        for kind in _COMBINABLE_ATTRIBUTES
        if kind in ask.scene_index.attributes[i]
    ]
    said = [true[k] for k in sorted(ask.rng.choice(len(true), 2, replace=False))]
    kinds = [ATTRIBUTE_TYPES[value] for value in said]
    yes, k, x = ask.is_chosen(0.5), int(ask.is_chosen(0.5)), ask.make_reference(i, hide=kinds)
    false = None if yes else ask.choose_wrong_value(i, kinds[k])
    if x is None or (false is None and not yes):
        return None
    full, needs = "Yes, {n} [is|are] {u} and {v}", {("attr", i, said[0]), ("attr", i, said[1])}
    if not yes:
        full = f"No, {{n}} [is|are] {to_predicate(said[1 - k])} but {to_predicate(said[k])}"
        needs, said[k] = {("attr", i, said[k])}, false
    templates = (
        "[Is|Are] {x} {u} and {v}",
        "[Is|Are] {x} {u} and {v}",
        "[Is|Are] {x} both {u} and {v}",
        "Do you think {x} [is|are] {u} and {v}",
    )
    if set(kinds) <= set(_LOOKING_ATTRIBUTES):
        templates += ("[Does|Do] {x} look {u} and {v}",)
    if kinds[1] != "material" and ask.is_chosen(0.5):
        said.reverse()
    last, program = len(x.program) - 1, x.program
    for value in said:
        program = add_joining_step(program, typed_operation("verify", value), value, [last])
    return ask.make_proposal(
        "verifyAttrs" + "C" * (not yes),
        templates,
        add_joining_step(program, "and", "", (last + 1, last + 2)),
        "yes" if yes else "no",
        full,
        slots={
            "x": x.the,
            "n": ask.make_definite(i),
            "u": make_phrase(to_predicate(said[0])),
            "v": make_phrase(to_predicate(said[1])),
        },
        local=f"05-{'_'.join(sorted(said))}",
        asserts={*x.facts, *(needs if yes else ())},
        needs=[needs],
        target=i,
        topic=("verify", i, *sorted(said)),
    )
