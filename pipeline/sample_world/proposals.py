"""A question as it is proposed for a picture: text, program, answer, and what knowing the answer tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.core.records import Step
from pipeline.sample_world.ontology import AGES, BY_NAME, COLORS, KINDS, MATERIALS, PATTERNS, SIZES, STATES
from pipeline.sample_world.phrasing import Phrase, is_plural, pick, render, words
from pipeline.sample_world.references import Fact, Reference, View, describe

# GQA's detailed types: (structural, semantic) -> names. A final C stands for the twin whose answer is "no".
_TYPES: dict[tuple[str, str], str] = {
    ("query", "attr"): "directWhich directOf how material activity positionQuery",
    ("query", "cat"): "category categoryThis categoryThat categoryAttr activityWho",
    ("query", "rel"): "relS relO categoryRelS categoryRelO",
    ("query", "global"): "place weather",
    ("verify", "attr"): "verifyAttr verifyAttrC verifyAttrK verifyAttrKC materialVerify materialVerifyC "
                        "positionVerify positionVerifyC",
    ("verify", "rel"): "relVerify relVerifyCr relVerifyCop existRelS existRelSC existRelSRC",
    ("verify", "obj"): "exist existC existAttr existAttrC existThat existThatC existMaterial existMaterialC "
                       "existThatNot existThatNotC",
    ("verify", "global"): "locationVerify locationVerifyC weatherVerify weatherVerifyC placeVerify placeVerifyC",
    ("choose", "attr"): "chooseAttr activityChoose materialChoose positionChoose",
    ("choose", "rel"): "relChooser categoryRelSChoose categoryRelOChoose",
    ("choose", "cat"): "categoryThisChoose categoryThatChoose",
    ("choose", "global"): "locationChoose weatherChoose placeChoose",
    ("logical", "obj"): "existAnd existAndC existOr existOrC existAttrOr existAttrOrC existThatOr existThatOrC",
    ("logical", "attr"): "verifyAttrs verifyAttrsC verifyAttrAnd verifyAttrAndC",
    ("compare", "attr"): "twoSame twoSameC twoDifferent twoDifferentC twoSameMaterial twoSameMaterialC twoCommon",
}
TYPES: dict[str, tuple[str, str]] = {name: kind for kind, names in _TYPES.items() for name in names.split()}

_VALUES = {"color": tuple(COLORS), "material": MATERIALS, "pattern": PATTERNS, "size": SIZES, "age": AGES} | STATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A question before it has an id.

    Attributes:
        marks, full_marks, answer_marks: GQA's annotations of question, full answer and answer.
        asserts: facts that hold when the answer is right and what is presupposed holds.
        needs: alternatives; whoever knows all facts of one of them knows the answer.
        target: id of the object asked about ("" for none). topic: what is asked; equal for rephrasings.
    """

    detailed: str
    text: str
    answer: str
    full_answer: str
    program: tuple[Step, ...]
    marks: dict[str, str]
    full_marks: dict[str, str]
    answer_marks: dict[str, str]
    group_global: str
    group_local: str
    asserts: frozenset[Fact]
    needs: tuple[frozenset[Fact], ...]
    target: str
    topic: tuple[str, ...]


class Asker:
    """Draws questions about one scene; all randomness comes from `rng`."""

    def __init__(self, view: View, rng: np.random.Generator) -> None:
        self.view = view
        self.rng = rng

    def pick(self, options: Sequence):
        return pick(self.rng, options)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def some(self, wanted: Callable[[str], bool]) -> str | None:
        """Id of an object that is wanted, drawn evenly; None when there is none."""
        ids = [i for i in self.view.objects if wanted(i)]
        return self.pick(ids) if ids else None

    def refer(self, object_id: str, *, hide: Iterable[str] = (), avoid: Iterable[str] = (), **options) -> Reference | None:
        """A reference that chains one relation at most, two now and then."""
        options.setdefault("depth", 2 if self.chance(0.12) else 1)
        return describe(self.view, self.rng, object_id, hide=hide, avoid=avoid, **options)

    def named(self, object_id: str) -> Phrase:
        """`the cup`: as full answers name an object."""
        return (("the", ""), *words(self.view.name(object_id), object_id))

    def wrong(self, object_id: str, kind: str) -> str | None:
        """Another value of an attribute type than the object's own, one that its kind could have."""
        sort = BY_NAME[self.view.name(object_id)]
        true = self.view.values[object_id][kind]
        possible = {"color": sort.colors, "material": sort.materials, "pose": sort.poses}.get(kind) or _VALUES.get(kind, ())
        if len(possible) < 2:
            possible = _VALUES.get(kind, ())
        others = [value for value in possible if value != true]
        return self.pick(others) if others else None

    def absent_kind(self, without: Iterable[str] = ()) -> str | None:
        """A kind that could well be in such a place but is not in this picture."""
        there = {*without, *(item.name for item in self.view.scene.objects)}
        names = [kind.name for kind in KINDS if self.view.scene.location in kind.places and kind.name not in there]
        return self.pick(names) if names else None

    def propose(self, detailed: str, templates: Sequence[str], program: tuple[Step, ...], answer: str, full: str, *,
                slots: dict[str, Phrase], asserts: Iterable[Fact], needs: Iterable[Iterable[Fact]], local: str,
                topic: tuple[str, ...], group: str = "", plural: bool = False, full_plural: bool | None = None,
                target: str = "", answer_id: str = "") -> Proposal:
        """Put one of the templates and the full answer into words."""
        text, marks = render(self.pick(templates) + "?", self.rng, plural, slots)
        said, full_marks = render(full + ".", self.rng, plural if full_plural is None else full_plural, slots)
        span = str(0) if len(answer.split()) == 1 else f"0:{len(answer.split())}"
        return Proposal(
            detailed=detailed, text=text, answer=answer, full_answer=said, program=program, marks=marks,
            full_marks=full_marks, answer_marks={span: answer_id} if answer_id else {}, group_global=group,
            group_local=local, asserts=frozenset(asserts), needs=tuple(frozenset(n) for n in needs), target=target,
            topic=topic)


def plural_name(view: View, object_id: str) -> bool:
    return is_plural(view.name(object_id))
