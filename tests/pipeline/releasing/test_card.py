from pathlib import Path

import datasets
import pytest
from msgspec.structs import replace
from PIL import Image

from pipeline.releasing.card import card
from pipeline.releasing.release_facts import VoteCounts
from tests.pipeline.releasing.card_facts import P, facts, tables


@pytest.fixture
def text_of(tmp_path):
    """The card of some items, with other facts."""

    def text(items, **changed):
        return card(facts(items, **changed), tables(tmp_path, items))

    return text


def test_the_card_says_that_verdicts_are_simulated_and_warns(items, text_of):
    text = text_of(items, warnings=("clip-hard: too easy",))
    assert "verdicts of this release are simulated" in text and "## What is simulated" in text
    assert "> **Warning.** clip-hard: too easy" in text
    assert (
        "| `clip-hard` | questions of other pictures, among the most similar by CLIP | 4 | 4 | 4 | 2 |"
        in text
    )
    people = text_of([i for i in items if not i.simulated])
    assert "verdicts of this release are simulated" not in people and "## What is simulated" not in people


def test_it_begins_with_a_picture_and_how_to_run_a_model(items, text_of):
    text = text_of(items)
    assert text.index("](card.png)") < text.index("rgqa-run RELEASE --model") < text.index("## Subsets")


def test_where_the_pictures_are_not_there_the_cards_code_joins_them(items, text_of, tmp_path, monkeypatch):
    text = text_of(items, p=replace(P, pictures=False, fetch_recipe="Ask for them."))
    assert "The pictures are not in this release. Ask for them." in text and "- pictures: none" in text
    (tmp_path / "README.md").write_text(text)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for name, colour in (("a.jpg", (255, 0, 0)), ("b.png", (0, 0, 255))):
        (tmp_path / "pictures").mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), colour).save(tmp_path / "pictures" / name)
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    code = "\n".join(blocks).replace("path/to/the/pictures", str(tmp_path / "pictures"))
    names: dict = {}
    exec(code.replace("path/to/this/folder", str(tmp_path)), names)  # the card's own code
    for rows in names["subset"].values():
        assert len(rows)
        for row in rows:
            red, _, blue = row["image"].convert("RGB").getpixel((1, 1))
            assert (red > blue) == (row["picture_id"] == "a")
    assert "Ask for them." not in text_of(items, p=replace(P, fetch_recipe="Ask for them."))


def test_a_rehearsal_says_so_before_anything_else(items, text_of):
    text = text_of([replace(item, rehearsal=True) for item in items])
    assert "THIS IS A REHEARSAL, NO BENCHMARK" in text and "# REHEARSAL of Tiny 1.0.0" in text


def test_the_card_says_how_many_votes_each_uq_rests_on_and_how_many_on_one(items, text_of):
    text = text_of(items)  # (2 * 1 + 5 * 2 + 13 * 3) / 20 = 2.55
    assert (
        "8 annotators, 1 of them excluded (some from a task on); 2.55 votes that count per UQ; 2 UQs rest on a single vote"
        in text
    )
    assert "7 rest on an expert's word" in text
    assert "| 1 | 2 |\n| 2 | 5 |\n| 3 | 13 |" in text and "Alpha is high." in text
    assert "A trial from few votes" not in text and "by the probabilities" not in text


@pytest.mark.parametrize(
    ("people", "votes", "few"), [(1, {1: 9}, True), (3, {1: 9}, True), (2, {2: 9}, True), (3, {2: 9}, False)]
)
def test_a_trial_from_few_votes_says_so_before_everything_else(items, text_of, people, votes, few):
    judged = VoteCounts(
        annotators=people, excluded=0, votes=votes, agreement="", wrong="0.10% (0.05% to 0.20%)"
    )
    text = text_of(items, judged=judged)
    assert ("> **A trial from few votes.**" in text) is few
    assert "by the probabilities that decided: 0.10% (0.05% to 0.20%)" in text


def test_difficulties_are_counted_where_they_are_known(items, text_of):
    assert "UQs by difficulty" not in text_of(items)
    known = [replace(item, difficulty="popular" if item.unanswerable else None) for item in items]
    assert "| `clip-hard` | 0 | 4 | 0 |" in text_of(known)


def test_every_file_of_a_release_is_told_in_its_card(release):
    text = (release / "README.md").read_text()
    for path in release.iterdir():
        assert (
            f"`{path.name}" in text
            or f"({path.name})" in text
            or path.name == "README.md"
            or (
                path.name in ("params.json", "harness", "scorers", "rgqa", "data", "sanity")
                and path.name in text
            )
        ), path
    assert Path(release / "card.png").stat().st_size > 1000
