import json

import numpy as np

from pipeline.core.records import Item
from pipeline.stages.audit import TEXT_ATTACKS, AuditParams, audit_subset, warnings

P = AuditParams(limits={"pt-easy": 0.65}, folds=3, repetitions=50)


def items(word):
    """60 pairs; the UQ's text holds `word` where the AQ's has "cup"."""
    rows = []
    for i in range(60):
        for unanswerable in (False, True):
            rows.append(
                Item(
                    item_id=f"{i}{unanswerable}",
                    subset="pt-easy",
                    picture_id=f"p{i % 20}",
                    question_id=str(i),
                    pair_id=str(i),
                    part="test",
                    text=f"Where is the {word if unanswerable else 'cup'} number {i}?",
                    unanswerable=unanswerable,
                    answer="" if unanswerable else "left",
                    category="missing object" if unanswerable else None,
                    score=0.1 if unanswerable else 0.3,
                )
            )
    return rows


PICTURES = {f"p{i}": np.eye(20, dtype=np.float32)[i] for i in range(20)}


def test_a_word_that_betrays_unanswerable_questions_is_reported_and_warned_of():
    found = audit_subset(items("unicorn"), PICTURES, P)
    assert found.attacks["word n-grams"].auroc == 1.0
    assert [line.split(":")[0] for line in warnings({"pt-easy": found}, P.limits)] == ["pt-easy"] * len(
        TEXT_ATTACKS
    )
    assert "AUROC 1.00; the limit is 0.65" in warnings({"pt-easy": found}, P.limits)[0]


def test_without_a_sign_in_the_text_nothing_is_found_and_nobody_is_warned():
    # The UQ's text is the AQ's, so what is learnt in one fold says nothing of another.
    found = audit_subset(items("cup"), PICTURES, P)
    assert found.attacks["word n-grams"].auroc == found.attacks["length"].auroc == 0.5
    assert warnings({"pt-easy": found}, P.limits) == []
    assert (found.text_margin.largest, found.picture_margin.largest) == (0, 0)


def test_the_clip_score_is_an_attacker_too_and_its_overlap_is_counted():
    found = audit_subset(items("cup"), PICTURES, P)
    assert found.attacks["CLIP score"].auroc == 1.0  # every AQ has 0.3, every UQ 0.1
    assert (found.clip_overlap, found.clip_distance) == (0.0, 0.2)
    assert found.categories == {"missing object": 60}


def test_the_report_of_a_whole_run_has_ours_and_the_papers_rules_and_the_truth(tiny_run):
    folder = tiny_run / "data/tiny/interim/audit"
    report = json.loads((folder / "audit.json").read_text())
    assert set(report["subsets"]) and set(report["paper_rules"])
    assert {"clip-easy", "clip-hard", "pt-easy", "pt-hard"} == set(report["screen_against_truth"])
    for subset in ("clip-easy", "clip-hard"):
        if subset in report["subsets"]:
            assert (
                report["subsets"][subset]["text_margin"]["largest"]
                == report["subsets"][subset]["picture_margin"]["largest"]
                == 0
            )
    text = (folder / "audit.md").read_text()
    assert "## The paper's rules on the same data" in text and "simulated" in text
