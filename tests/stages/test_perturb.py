from collections import Counter

from pipeline.candidates.perturbing.replacements import PerturbParams
from pipeline.stages.perturb import count_keys, make_report
from tests.candidates.perturbing.in_memory import perturb
from tests.candidates.perturbing.object_cases import EASY
from tests.candidates.perturbing.small_vocabulary import vocabulary
from tests.notation import question


def test_every_question_is_a_candidate_or_has_a_reason_in_each_subset():
    rows = [question(row[0], row[1], row[2], row[3], f"q{i}") for i, row in enumerate(EASY)]
    candidates, dropped = perturb(rows, {q.text: () for q in rows}, vocabulary("kite"), PerturbParams())
    counts = Counter(key for row in (*candidates, *dropped) for key in count_keys(row))
    for subset in make_report(counts).values():
        assert subset["questions"] == len(rows) == subset["candidates"] + sum(subset["unedited"].values())
