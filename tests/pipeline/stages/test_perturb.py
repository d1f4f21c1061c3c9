from collections import Counter
from pathlib import Path

import pytest
import yaml

from pipeline.core.files import read_jsonl, write_jsonl
from pipeline.core.records import Alternatives, Candidate, TextScore
from pipeline.perturbing.replacements import PerturbParams
from pipeline.stages import ingest, tag
from pipeline.stages import perturb as stage
from pipeline.stages import vocabulary as counted
from pipeline.stages.perturb import keys, report
from tests.notation import question
from tests.pipeline.perturbing.in_memory import perturb
from tests.pipeline.perturbing.small_vocabulary import vocabulary
from tests.pipeline.perturbing.test_thing_edits import EASY
from tests.tiny.project import PARAMS, lay_out


def test_every_question_is_a_candidate_or_has_a_reason_in_each_subset():
    rows = [question(row[0], row[1], row[2], row[3], f"q{i}") for i, row in enumerate(EASY)]
    candidates, dropped = perturb(rows, {q.text: () for q in rows}, vocabulary("kite"), PerturbParams())
    counts = Counter(key for row in (*candidates, *dropped) for key in keys(row))
    for subset in report(counts).values():
        assert subset["questions"] == len(rows) == subset["candidates"] + sum(subset["unperturbed"].values())


def test_candidates_chosen_of_several_texts_are_counted_by_whether_all_had_a_score():
    rows = [
        Alternatives(candidate_id="a", subset="pt-easy", texts=("A?", "B?"), scores=(-1.0, -2.0)),
        Alternatives(candidate_id="b", subset="pt-easy", texts=("A?", "C?")),
        Alternatives(candidate_id="c", subset="pt-easy", texts=("C?", "D?")),
    ]
    subsets = report(Counter(key for row in rows for key in keys(row)))
    assert subsets["pt-easy"]["alternatives"] == {"ranked": 1, "not ranked": 2}
    assert subsets["pt-easy"]["candidates"] == subsets["pt-easy"]["questions"] == 0


@pytest.fixture
def tagged(tmp_path, monkeypatch):
    """The tiny world, with three draws of each edit, before perturb."""
    monkeypatch.chdir(lay_out(tmp_path, PARAMS | {"perturb": {"seed": 1, "alternatives": 3}}))
    for before in (ingest, counted, tag):
        before.main()
    return Path("data/tiny/interim/perturb")


def test_scores_that_lie_there_decide_and_other_files_do_not_change(tagged):
    stage.main()
    first = {row.candidate_id: row for row in read_jsonl(tagged / "candidates.jsonl", Candidate)}
    choices = {row.candidate_id: row for row in read_jsonl(tagged / "alternatives.jsonl", Alternatives)}
    dropped = (tagged / "unperturbed.jsonl").read_bytes()
    assert len(choices) > 20
    texts = sorted({text for row in choices.values() for text in row.texts})
    # the later in the alphabet, the better
    write_jsonl(
        "data/tiny/plausibility/scores.jsonl",
        [TextScore(text=text, score=float(i), model="alphabet") for i, text in enumerate(texts)],
    )
    stage.main()
    for row in read_jsonl(tagged / "candidates.jsonl", Candidate):
        if row.candidate_id in choices:
            assert row.text == max(choices[row.candidate_id].texts)
        else:
            assert row == first[row.candidate_id]
    assert (tagged / "unperturbed.jsonl").read_bytes() == dropped
    counts = yaml.safe_load((tagged / "perturb.json").read_text())
    assert sum(subset["alternatives"]["ranked"] for subset in counts.values()) == len(choices)
