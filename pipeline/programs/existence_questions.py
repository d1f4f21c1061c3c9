"""Whether a question asks if something exists: it has an answer at every picture."""

from __future__ import annotations

import re

from pipeline.core.records import Question

# For questions that come without type and program; with them the text is not looked at.
EXISTENCE = re.compile(
    r"(is|are) there\b|(do|can) you see\b|does the (picture|image|photo) (show|contain)\b", re.IGNORECASE
)


def is_existence(question: Question) -> bool:
    """Whether the question asks if something exists: by GQA's detailed type, else by the program's last step
    (`exist`, or `and`/`or` over such steps), else by its first words."""
    if question.detailed.startswith("exist"):
        return True
    program = question.program
    if not program:
        return not question.detailed and EXISTENCE.match(question.text) is not None

    def existence(index: int) -> bool:
        step = program[index]
        if step.operation in ("and", "or"):
            return bool(step.dependencies) and all(0 <= i < index and existence(i) for i in step.dependencies)
        return step.operation == "exist"

    return existence(len(program) - 1)
