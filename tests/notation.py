"""Short notation for scenes, programs and questions in tests.

scene("table 1 at 200 200: red wood", "cup 2 at 200 150: blue; on 1") and
steps("select: table (1)->relate: cup,on,s (2) [0]->query: color [1]"), which is GQA's own semanticStr.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipeline.core.records import Question, Relation, SceneGraph, SceneObject, Step
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.evidence import Evidence, build_scene_evidence
from pipeline.verifier.partial_graphs import PartialGraph, build_partial_graph

LEXICON = Lexicon(
    {
        "furniture": ("table", "chair", "shelf"),
        "animal": ("dog", "cat"),
        "person": ("man", "woman"),
        "food": ("fruit", "pizza"),
        "fruit": ("apple", "pear"),
        "clothing": ("hat", "jeans"),
    },
    dict.fromkeys(("red", "blue", "green", "light blue"), "color")
    | dict.fromkeys(("wood", "metal"), "material")
    | dict.fromkeys(("small", "large"), "size")
    | dict.fromkeys(("open", "closed"), "openness")
    | dict.fromkeys(("standing", "sitting"), "pose"),
)
# Width and height of the image. Objects are points (0 x 0) at their centre.
SIZE = 1000


@dataclass
class Gaps:
    """A completeness model with constant values.

    Attributes:
        left_out: Number of unlisted objects of each name.
        chance: Probability of an unlisted attribute or relation.
    """

    left_out: float
    chance: float = 0.0

    def estimate_unlisted_objects(self, name, listed_names, num_listed):
        return self.left_out

    def estimate_attribute_probability(self, attribute, name, is_listed):
        return self.chance

    def estimate_relation_probability(self, subject, relation, other, are_listed):
        return self.chance


def scene(*objects: str, complete: bool = True, place: str = "kitchen", weather: str = "") -> SceneGraph:
    return SceneGraph(
        image_id="p",
        split="testdev",
        width=SIZE,
        height=SIZE,
        location=place,
        weather=weather,
        is_complete=complete,
        objects=tuple(map(_object, objects)),
    )


def facts(*objects: str, **about: object) -> Evidence:
    return build_scene_evidence(scene(*objects, **about), LEXICON)


def steps(text: str) -> tuple[Step, ...]:
    return tuple(map(_step, text.split("->")))


def question(
    text: str,
    program: str = "",
    answer: str = "",
    annotations: dict[str, str] | None = None,
    question_id: str = "q1",
    image_id: str = "n1",
) -> Question:
    return Question(
        question_id=question_id,
        image_id=image_id,
        split="testdev",
        text=text,
        answer=answer,
        program=steps(program) if program else (),
        annotations=annotations or {},
    )


def answered_question(program: str, answer: str, question_id: str = "q") -> Question:
    """Return a question with a program and an answer."""
    return question(program, program, answer, question_id=question_id, image_id="p")


def graphs(asked: Mapping[str, Iterable[Question]], lexicon: Lexicon = LEXICON) -> dict[str, PartialGraph]:
    """Return the partial graphs of images by id, from their questions. Images without information have none."""
    made = {key: build_partial_graph(questions, lexicon) for key, questions in asked.items()}
    return {key: graph for key, graph in made.items() if graph}


def _object(line: str) -> SceneObject:
    name, object_id, x, y, attributes, relations = re.fullmatch(
        r"(.+?) (\d+)(?: at (\d+) (\d+))?(?:: ([^;]*))?(?:; (.*))?", line
    ).groups()
    return SceneObject(
        object_id=object_id,
        name=name,
        x=int(x or 100),
        y=int(y or 100),
        w=0,
        h=0,
        attributes=tuple(part.strip() for part in (attributes or "").split(",") if part.strip()),
        relations=tuple(
            Relation(name=r.rpartition(" ")[0].strip(), object_id=r.rpartition(" ")[2])
            for r in (relations or "").split(",")
            if r
        ),
    )


def _step(text: str) -> Step:
    operation, argument, inputs = re.fullmatch(r"([^:]+):(.*?)(?:\[([\d, ]+)\])?", text.strip()).groups()
    return Step(
        operation=operation,
        argument=argument.strip(),
        dependencies=tuple(map(int, (inputs or "").replace(",", " ").split())),
    )
