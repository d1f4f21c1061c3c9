from collections import Counter

from pipeline.core.records import Candidate, Edit
from pipeline.stages.screen import count_keys, make_report
from tests.candidates.screening.in_memory import SCENE, VOCABULARY, screen
from tests.candidates.screening.rule_cases import CASES
from tests.notation import question, steps


def test_what_goes_in_is_kept_or_dropped_for_a_counted_reason():
    asked = [question(row[1][0], row[1][1], row[1][2], question_id=f"q{i:02}") for i, row in enumerate(CASES)]
    candidates = [
        Candidate(
            candidate_id=f"c{i:02}",
            subset="pt-easy" if i % 2 else "pt-hard",
            image_id="n1",
            question_id=f"q{i:02}",
            text=row[2],
            program=steps(row[3]),
            edits=tuple(
                Edit(start=0, end=len(old), kind=kind, old=old, new=new, step_index=step)
                for kind, old, new, step in row[4]
            ),
        )
        for i, row in enumerate(CASES)
    ]
    kept, dropped = screen(candidates, asked, {"n1": SCENE}, VOCABULARY)
    counts = make_report(Counter(key for row in (*kept, *dropped) for key in count_keys(row)))
    assert sum(row["candidates"] for row in counts.values()) == len(candidates) == len(kept) + len(dropped)
    for row in counts.values():
        assert row["candidates"] == row["kept"] + sum(row["dropped"].values())
        assert sum(row["verifier"].values()) == sum(row["evidence"].values()) == row["kept"]
    assert {row.candidate.candidate_id for row in kept}.isdisjoint(d.candidate_id for d in dropped)
