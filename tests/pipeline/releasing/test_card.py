from huggingface_hub import DatasetCard
from msgspec.structs import replace

from pipeline.releasing.card import card
from tests.pipeline.releasing.card_facts import FACTS


def test_the_card_says_that_verdicts_are_simulated_and_warns(items):
    text = card(items, replace(FACTS, warnings=("clip-hard: too easy",)))
    assert "verdicts of this release are simulated" in text
    assert "> **Warning.** clip-hard: too easy" in text
    assert (
        "| `clip-hard` | questions of other pictures, among the most similar by CLIP | 4 | 4 | 4 | 2 |"
        in text
    )
    assert "verdicts of this release are simulated" not in card([i for i in items if not i.simulated], FACTS)


def test_the_hub_reads_the_front_matter(items):
    data = DatasetCard(card(items, FACTS)).data.to_dict()
    assert data["pretty_name"] == "Tiny 1.0.0" and data["language"] == ["en"]
    assert data["tags"] == ["unanswerable questions", "simulated annotation"]
    assert data["task_categories"] == ["visual-question-answering"]
    files = [{"split": part, "path": f"data/clip-hard-{part}.parquet"} for part in ("dev", "test")]
    assert data["configs"] == [{"config_name": "clip-hard", "data_files": files}]


def test_where_the_pictures_are_not_there_the_card_says_how_to_get_them(items):
    text = card(items, replace(FACTS, pictures_included=False, fetch_recipe="Ask for them."))
    assert "The pictures are not in this release. Ask for them." in text
    assert "Ask for them." not in card(items, replace(FACTS, fetch_recipe="Ask for them."))


def test_a_rehearsal_says_so_before_anything_else(items):
    text = card([replace(item, rehearsal=True) for item in items], FACTS)
    assert (
        "THIS IS A REHEARSAL, NO BENCHMARK" in text
        and "rehearsal" in DatasetCard(text).data.to_dict()["tags"]
    )
