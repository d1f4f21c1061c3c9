import json

import pytest
from huggingface_hub import DatasetCard
from msgspec.structs import replace

from pipeline.core.records import Item
from pipeline.releasing.card import VoteCounts, card, counted, mean_words
from tests.pipeline.releasing.card_facts import FACTS, P


def test_the_card_says_that_verdicts_are_simulated_and_warns(items):
    text = card(items, P, **FACTS | {"warnings": ["clip-hard: too easy"]})
    assert "verdicts of this release are simulated" in text
    assert "> **Warning.** clip-hard: too easy" in text
    assert (
        "| `clip-hard` | questions of other pictures, among the most similar by CLIP | 4 | 4 | 4 | 2 |"
        in text
    )
    assert "verdicts of this release are simulated" not in card(
        [i for i in items if not i.simulated], P, **FACTS
    )


def test_the_hub_reads_the_front_matter(items):
    data = DatasetCard(card(items, P, **FACTS)).data.to_dict()
    assert data["pretty_name"] == "Tiny 1.0.0" and data["language"] == ["en"]
    assert data["tags"] == ["unanswerable questions", "simulated annotation"]
    assert data["task_categories"] == ["visual-question-answering"]
    files = [{"split": part, "path": f"data/clip-hard-{part}.parquet"} for part in ("dev", "test")]
    assert data["configs"] == [{"config_name": "clip-hard", "data_files": files}]


def test_where_the_pictures_are_not_there_the_card_says_how_to_get_them(items):
    text = card(items, replace(P, pictures=False, fetch_recipe="Ask for them."), **FACTS)
    assert "The pictures are not in this release. Ask for them." in text
    assert "Ask for them." not in card(items, replace(P, fetch_recipe="Ask for them."), **FACTS)


def test_a_rehearsal_says_so_before_anything_else(items):
    text = card([replace(item, rehearsal=True) for item in items], P, **FACTS)
    assert (
        "THIS IS A REHEARSAL, NO BENCHMARK" in text
        and "rehearsal" in DatasetCard(text).data.to_dict()["tags"]
    )


def test_a_subset_is_counted_without_the_others(items):
    others = [replace(item, subset="pt-easy") for item in items]
    found = counted("clip-hard", [*items, *others[:3]])
    assert (found.uqs, found.aqs, found.texts, found.pictures) == (4, 4, 4, 2)
    assert found.words == 3  # 3, 3, 2 and 4 words


def test_the_card_says_how_many_votes_each_uq_rests_on_and_how_many_on_one(items):
    text = card(items, P, **FACTS)  # (2 * 1 + 5 * 2 + 13 * 3) / 20 = 2.55
    assert (
        "8 annotators, 1 of them excluded (some from a task on); 2.55 votes that count per UQ; 2 UQs rest on a single vote"
        in text
    )
    assert "| 1 | 2 |\n| 2 | 5 |\n| 3 | 13 |" in text and "Alpha is high." in text
    assert "A trial from few votes" not in text and "by the probabilities" not in text


@pytest.mark.parametrize(
    ("people", "votes", "few"), [(1, {1: 9}, True), (3, {1: 9}, True), (2, {2: 9}, True), (3, {2: 9}, False)]
)
def test_a_trial_from_few_votes_says_so_before_everything_else(items, people, votes, few):
    judged = VoteCounts(
        annotators=people, excluded=0, votes=votes, agreement="", wrong="0.10% (0.05% to 0.20%)"
    )
    text = card(items, P, **FACTS | {"judged": judged})
    assert ("> **A trial from few votes.**" in text) is few
    assert "by the probabilities that decided: 0.10% (0.05% to 0.20%)" in text


def test_difficulties_are_counted_where_they_are_known(items):
    assert "UQs by difficulty" not in card(items, P, **FACTS)
    known = [replace(item, difficulty="popular" if item.unanswerable else None) for item in items]
    assert "| `clip-hard` | 0 | 4 | 0 |" in card(known, P, **FACTS)


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


def test_croissant_names_every_table_with_its_sum(release):
    described = {
        row["contentUrl"]: row["sha256"]
        for row in json.loads((release / "croissant.json").read_text())["distribution"]
    }
    sums = {line[66:]: line[:64] for line in (release / "CHECKSUMS.sha256").read_text().splitlines()}
    assert described == {path: digest for path, digest in sums.items() if path.startswith("data/")}


def test_the_columns_are_those_of_the_tables_and_no_lists_or_pictures(release):
    described = json.loads((release / "croissant.json").read_text())
    kinds = {field["name"]: field["dataType"] for field in described["recordSet"][0]["field"]}
    assert (
        kinds["label"] == "sc:Integer"
        and kinds["clip_score"] == "sc:Float"
        and kinds["simulated"] == "sc:Boolean"
    )
    assert kinds["question"] == kinds["canary"] == "sc:Text" and not {"edits", "image"} & kinds.keys()
