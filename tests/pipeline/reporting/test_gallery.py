from dataclasses import replace

import pytest

from pipeline.core.records import Item, Task, TaskQuestion, Verdict
from pipeline.reporting.gallery import drawn, gallery, vote


def items(count):
    return [
        Item(
            item_id=f"{i:03}",
            subset="pt-easy",
            picture_id="n1",
            question_id="1",
            text="?",
            unanswerable=i % 2 == 0,
            answer="",
            pair_id="p",
            part="test",
        )
        for i in range(count)
    ]


def test_the_draw_is_of_uqs_alone_without_repetition_and_depends_on_nothing_but_the_ids():
    some = drawn(items(100), 12, "pt-easy")
    assert len({item.item_id for item in some}) == 12 and all(item.unanswerable for item in some)
    assert some == drawn(items(100)[::-1], 12, "pt-easy") == sorted(some, key=lambda item: item.item_id)
    assert some != drawn(items(100), 12, "pt-hard")


def test_a_draw_of_more_than_there_are_takes_all():
    assert len(drawn(items(10), 25, "pt-easy")) == 5
    assert drawn(items(10), 0, "pt-easy") == []


def task(candidate_first):
    asked = TaskQuestion(key="c", text="candidate", role="candidate", candidate_id="x")
    known = TaskQuestion(key="f", text="filter", role="filter", expected="valid")
    first, second = (asked, known) if candidate_first else (known, asked)
    return Task(task_id="t", picture_id="n1", subset="pt-easy", first=first, second=second)


@pytest.mark.parametrize("candidate_first", [True, False])
def test_a_vote_is_what_was_said_of_the_candidate_wherever_it_stood(candidate_first):
    of_candidate, of_filter = ("invalid", "missing object"), ("valid", "")
    (first, why_first), (second, why_second) = (
        (of_candidate, of_filter) if candidate_first else (of_filter, of_candidate)
    )
    verdict = Verdict(
        verdict_id="v",
        task_id="t",
        annotator="ann",
        first=first,
        second=second,
        first_reason=why_first,
        second_reason=why_second,
    )
    found = vote(task(candidate_first), verdict, "filter failed")
    assert (found.annotator, found.said, found.reason, found.aside) == (
        "ann",
        "invalid",
        "missing object",
        "filter failed",
    )


def test_unsure_is_shown_as_such():
    verdict = Verdict(verdict_id="v", task_id="t", annotator="ann", first="unsure", second="valid")
    assert vote(task(True), verdict, "").said == "unsure (counts as valid)"


@pytest.fixture
def cards(run):
    return gallery(run, 25)


def test_every_subset_shows_its_items_with_all_votes(cards, run):
    assert list(cards) == list(run.items)
    for subset, shown in cards.items():
        assert len(shown) == min(25, sum(item.unanswerable for item in run.items[subset]))
        for card in shown:
            assert "".join(piece.text for piece in card.text) == card.item.text
            # verified.jsonl counted the votes; the card shows each of them
            counted = [vote.said for vote in card.votes if not vote.aside]
            found = run.verified[card.item.item_id]
            assert (counted.count("invalid"), len(counted), len(card.votes)) == (
                found.votes_invalid,
                found.votes_invalid + found.votes_valid,
                len(found.verdict_ids),
            )


def test_the_aq_beside_a_uq_is_of_its_pair(cards, run):
    answered = {item.item_id: item for rows in run.items.values() for item in rows if not item.unanswerable}
    for subset, shown in cards.items():
        for card in shown:
            assert card.beside.question_id in answered and card.beside.answer
            assert bool(card.beside_picture) == (card.beside.picture_id != card.item.picture_id)
            if subset.startswith("pt"):
                assert card.beside == card.source and card.own
            else:
                assert card.beside.text == card.item.text and not card.own


def test_a_run_with_graphs_has_boxes_and_one_without_has_none(cards, run):
    own = [card for subset in ("pt-easy", "pt-hard") for card in cards[subset]]
    assert own and all(card.concerned.boxes for card in own)
    assert any(box.edited for card in own for box in card.concerned.boxes)
    bare = gallery(replace(run, scenes={}), 2)
    assert not [
        card for shown in bare.values() for card in shown if card.concerned.boxes or card.concerned.unlisted
    ]
