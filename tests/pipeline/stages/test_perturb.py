from collections import Counter

from pipeline.perturbing.replacements import PerturbParams
from pipeline.stages.perturb import keys, report
from tests.notation import question
from tests.pipeline.perturbing.in_memory import perturb
from tests.pipeline.perturbing.small_vocabulary import vocabulary
from tests.pipeline.perturbing.test_thing_edits import EASY


def test_every_question_is_a_candidate_or_has_a_reason_in_each_subset():
    rows = [question(row[0], row[1], row[2], row[3], f"q{i}") for i, row in enumerate(EASY)]
    candidates, dropped = perturb(rows, {q.text: () for q in rows}, vocabulary("kite"), PerturbParams())
    counts = Counter(key for row in (*candidates, *dropped) for key in keys(row))
    for subset in report(counts).values():
        assert subset["questions"] == len(rows) == subset["candidates"] + sum(subset["unperturbed"].values())
