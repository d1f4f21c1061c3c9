"""Text and program after the swaps: spliced in, articles and capitals set right; steps that say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pipeline.core.records import Step
from pipeline.perturbing.fitting import Swap
from pipeline.programs.operations import Operation
from pipeline.programs.sentence import Sentence
from pipeline.words.nouns import article


def rewrite(sentence: Sentence, swaps: Iterable[Swap]) -> str:
    """The new text. Where two swaps change one word (a verb of both), the first one's change counts."""
    by_start: dict[int, tuple[int, str]] = {}  # characters [start, end) become this
    swaps = list(swaps)
    for swap in swaps:
        by_start[swap.slot.span.start] = swap.slot.span.end, swap.text
    for swap in swaps:
        for index, new in swap.changes:
            start, end = sentence.places[index]
            if not new:  # a word that goes takes the blank after it along
                end = sentence.places[index + 1][0]
            by_start.setdefault(start, (end, new))
    for index, token in enumerate(sentence.tokens[:-1]):
        start, end = sentence.places[index]
        following = by_start.get(sentence.places[index + 1][0])
        if token in ("a", "an") and following and following[1]:
            by_start.setdefault(start, (end, article(following[1])))
    parts, position = [], 0
    for start, (end, new) in sorted(by_start.items()):
        parts += [sentence.text[position:start], new]
        position = end
    text = "".join((*parts, sentence.text[position:]))
    return text[:1].upper() + text[1:]


def edited(
    program: Sequence[Step], operations: Sequence[Operation], swaps: Iterable[Swap]
) -> tuple[Step, ...]:
    """The program with the swaps made; a step that names something else loses its object id (`-`)."""
    steps = list(program)
    for swap in swaps:
        slot, step = swap.slot, steps[swap.slot.step]
        operation = operations[slot.step]
        body, bracket, _ = step.argument.partition("(")
        parts = body.strip().split(",")
        if slot.value < 0:
            parts[0] = swap.new
        elif operation.verb == "relate":
            parts[1] = swap.new
        elif operation.verb == "filter":  # "not(red)" has a bracket of its own
            parts, bracket = [swap.new], ""
        else:
            parts = ["|".join(swap.new if value == slot.word else value for value in operation.values)]
        argument = ",".join(parts) + (" (-)" if bracket else "")
        steps[slot.step] = msgspec.structs.replace(step, argument=argument)
    return tuple(steps)
