import msgspec
import numpy as np

from pipeline.auditing.subset_audit import AuditParams, audit_items, audit_subset, warnings
from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.core.records import Item

P = AuditParams(limits={"pt-easy": 0.65}, folds=3, repetitions=50)


def items(word):
    """60 pairs; the UQ's text holds `word` where the AQ's has "cup"."""
    return [
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
        for i in range(60)
        for unanswerable in (False, True)
    ]


PICTURES = {f"p{i}": np.eye(20, dtype=np.float32)[i] for i in range(20)}


def test_a_word_that_betrays_unanswerable_questions_is_reported_and_warned_of():
    found = audit_subset(items("unicorn"), PICTURES, P)
    assert found.attacks["word n-grams"].auroc == 1.0
    over = [name for name in TEXT_ATTACKERS if found.attacks[name].auroc > 0.65]
    assert {"word n-grams", "character n-grams", "word pairs", "word pairs, Bayes", "language model"} <= set(
        over
    )
    assert [line.split(":")[0] for line in warnings({"pt-easy": found}, P.limits)] == ["pt-easy"] * len(over)
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


def test_the_subsets_are_audited_in_their_order_and_only_those_that_have_items():
    hard = [msgspec.structs.replace(item, subset="pt-hard") for item in items("unicorn")]
    audits = audit_items([*hard, *items("cup")], PICTURES, P, "audit")
    assert list(audits) == ["pt-easy", "pt-hard"]
    assert audits["pt-hard"] == audit_subset(hard, PICTURES, P)
