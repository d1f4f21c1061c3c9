"""Programs for tests, written as GQA writes them in `semanticStr`."""

import re

from pipeline.core.records import Question, Step

_STEP = re.compile(r"([a-z A-Z]+):(.*?)(?:\[([\d, ]+)\])?$")


def program(text: str) -> tuple[Step, ...]:
    """`select: cup (1)->filter color: red [0]->query: size [1]`, as steps."""
    steps = []
    for part in text.split("->"):
        operation, argument, inputs = _STEP.match(part.strip()).groups()
        dependencies = tuple(int(i) for i in inputs.split(",")) if inputs else ()
        steps.append(Step(operation=operation.strip(), argument=argument.strip(), dependencies=dependencies))
    return tuple(steps)


def question(
    text: str, semantic: str = "", answer: str = "", annotations: dict | None = None, question_id: str = "q1"
) -> Question:
    """A question of picture n1."""
    return Question(
        question_id=question_id,
        picture_id="n1",
        split="testdev",
        text=text,
        answer=answer,
        program=program(semantic) if semantic else (),
        annotations=annotations or {},
    )
