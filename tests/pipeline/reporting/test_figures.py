import msgspec
import pytest

from pipeline.auditing.text_attackers import TEXT_ATTACKERS
from pipeline.core.records import Edit, Item
from pipeline.reporting.figures import (
    ATTACKERS,
    RGQA_SIZES,
    TABLE_1,
    EditedWord,
    attack_rows,
    edits,
    mean_words,
    sizes,
    this_set,
)


def uq(name, *pairs, unanswerable=True):
    made = tuple(Edit(start=0, end=1, kind=kind, old=old, new=new) for kind, old, new in pairs)
    return Item(
        item_id=name,
        subset="pt-hard",
        picture_id="n1",
        question_id="1",
        text="?",
        unanswerable=unanswerable,
        answer="",
        pair_id="p",
        part="test",
        edits=made,
    )


def test_the_papers_subsets_add_up_to_its_row_of_table_1():
    rgqa = next(row for row in TABLE_1 if row.name == "RGQA")
    uqs, everything = (sum(column) for column in zip(*RGQA_SIZES.values(), strict=True))
    assert everything == rgqa.pairs  # 11,158 + 20,325 + 12,241 + 11,913
    # 29,046 of 55,637 are 52.21 %; the paper prints 52.22
    assert 100 * uqs / everything == pytest.approx(rgqa.uq_percent, abs=0.02)


def test_edits_are_counted_by_kind_by_item_and_by_words():
    rows = [
        uq("1", ("attribute", "Red", "blue"), ("relation", "left", "right")),
        uq("2", ("attribute", "red", "blue")),
        uq("3", ("attribute", "small", "large")),
        uq("4"),
        uq("5", ("attribute", "red", "blue"), unanswerable=False),
    ]
    found = edits(rows)
    assert (found.items, found.per_item) == (3, {1: 2, 2: 1})
    assert found.swaps == [
        EditedWord(kind="attribute", old="red", new="blue", count=2),
        EditedWord(kind="attribute", old="small", new="large", count=1),
        EditedWord(kind="relation", old="left", new="right", count=1),
    ]
    assert (found.taken_out, found.put_in) == (3, 3)  # red, small, left; blue, large, right
    assert edits([uq("4")]) is None


def test_length_is_counted_in_words():
    # 5 and 2 words
    rows = [
        Item(
            item_id=str(i),
            subset="pt-hard",
            picture_id="n1",
            question_id="1",
            text=text,
            unanswerable=True,
            answer="",
            pair_id="p",
            part="test",
        )
        for i, text in enumerate(("What color is the cup?", "Is it?"))
    ]
    assert mean_words(rows) == 3.5


def test_the_row_of_a_run_counts_its_items(run):
    items = [item for rows in run.items.values() for item in rows]
    row = this_set(run)
    assert (row.pairs, row.annotation) == (len(items), "simulated")
    assert row.uq_percent == pytest.approx(100 * len([i for i in items if i.answer == ""]) / len(items))
    assert sum(size.all for size in sizes(run).values()) == len(items)


def test_what_attackers_reach_is_the_audits_with_the_papers_rules_and_limits_beside(run):
    for subset, rows in attack_rows(run.audit, {"clip-easy": 0.55}).items():
        ours, paper = run.audit.subsets[subset].attacks, run.audit.paper_rules[subset].attacks
        assert {row.attacker: row.auroc for row in rows} == {name: a.auroc for name, a in ours.items()}
        assert {row.attacker: row.paper for row in rows} == {name: a.auroc for name, a in paper.items()}
        assert {row.attacker for row in rows if row.limit is not None} == (
            set(TEXT_ATTACKERS) if subset == "clip-easy" else set()
        )


def test_attackers_stand_in_one_order_and_new_ones_last(run):
    audit = run.audit.subsets["clip-easy"]
    more = msgspec.structs.replace(audit, attacks={"a new one": audit.attacks["length"]} | audit.attacks)
    rows = attack_rows(msgspec.structs.replace(run.audit, subsets={"clip-easy": more}), {})["clip-easy"]
    assert [row.attacker for row in rows] == [*ATTACKERS, "a new one"]
