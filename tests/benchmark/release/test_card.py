import html
import re
import shlex
import shutil
from pathlib import Path

import datasets
import pyarrow.parquet
import pytest
import yaml
from markdown_it import MarkdownIt
from msgspec.structs import replace
from PIL import Image

from pipeline.benchmark.release.card import render_card
from pipeline.benchmark.release.release_summary import VoteCounts
from pipeline.core.release_params import Licence
from pipeline.inference.argument_parser import make_parser
from pipeline.scoring.cli import main as score
from tests.benchmark.release.card_facts import P, facts, tables


def blocks_of(text, language):
    """The code of a card."""
    return [split.split("```")[0] for split in text.split(f"```{language}\n")[1:]]


@pytest.fixture
def text_of(tmp_path):
    """The card of some items, with other facts."""

    def text(items, **changed):
        return render_card(facts(items, **changed), tables(tmp_path, items))

    return text


def test_the_card_says_that_verdicts_are_simulated_and_warns(items, text_of):
    text = text_of(items, warnings=("clip-hard: too easy",))
    assert "verdicts of this release are simulated" in text and "## What is simulated" in text
    assert "> **Warning.** clip-hard: too easy" in text
    assert (
        "| `clip-hard` | questions of other images, among the most similar to the image by CLIP | 4 | 4 | 4 | 2 |"
        in text
    )
    people = text_of([i for i in items if not i.simulated])
    assert "verdicts of this release are simulated" not in people and "## What is simulated" not in people


def test_it_begins_with_a_image_and_how_to_run_a_model(items, text_of):
    text = text_of(items)
    assert text.index("](card.png)") < text.index("rgqa-run . --model") < text.index("## Subsets")


def test_where_the_images_are_not_there_the_cards_code_joins_them(items, text_of, tmp_path, monkeypatch):
    text = text_of(items, p=replace(P, include_images=False, image_instructions="Ask for them."))
    assert "The images are not in this release. Ask for them." in text and "- images: none" in text
    (tmp_path / "README.md").write_text(text)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for name, colour in (("a.jpg", (255, 0, 0)), ("b.png", (0, 0, 255))):
        (tmp_path.parent / "images").mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), colour).save(tmp_path.parent / "images" / name)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec("\n".join(blocks_of(text, "python")), names)  # the card's own code, as pasted
    for rows in names["subset"].values():
        assert len(rows)
        for row in rows:
            red, _, blue = row["image"].convert("RGB").getpixel((1, 1))
            assert (red > blue) == (row["image_id"] == "a")
    assert "Ask for them." not in text_of(items, p=replace(P, image_instructions="Ask for them."))


def test_the_cards_code_makes_predictions_that_its_command_scores(release, tmp_path, monkeypatch, capsys):
    copy = shutil.copytree(release, tmp_path / "release")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(copy)
    text = (copy / "README.md").read_text()
    for code in blocks_of(text, "python"):
        exec(code, {})  # as pasted
    (command,) = [
        line
        for block in blocks_of(text, "sh")
        for line in block.splitlines()
        if "predictions.json" in line and "runs" not in line
    ]
    score(shlex.split(command, comments=True)[1:])
    assert "AUAF" in capsys.readouterr().out


def test_the_cards_command_to_run_a_model_is_one_that_the_parser_takes(items, text_of):
    (command,) = [line for line in text_of(items).splitlines() if line.startswith("rgqa-run ")]
    given = make_parser().parse_args(shlex.split(command, comments=True)[1:])
    assert (given.release, given.out.parent) == (Path("."), Path("../runs"))  # never inside of the release


def test_a_table_of_the_columns_is_made_from_the_schema(release):
    text = (release / "README.md").read_text()
    rows = text.split("| column | type | meaning |")[1].split("\n\n")[0].splitlines()[2:]
    told = {row.split("|")[1].strip(" `"): row.split("|")[2].strip() for row in rows}
    schema = pyarrow.parquet.read_schema(next((release / "data").glob("*.parquet")))
    assert list(told) == schema.names and "source_question_id" in told and "question_id" not in told
    plain = {field.name: str(field.type) for field in schema if field.name not in ("edits", "image")}
    assert {name: kind.replace("float64", "double") for name, kind in told.items() if name in plain} == plain


ODD = "# A <b>*T*</b> | `x` [y](z) --- &amp;"


def test_texts_of_ones_own_are_shown_as_they_are(items, text_of):
    p = replace(
        P, title=ODD, data_source=ODD, limitations=(ODD,), simulated_content=(ODD,), intended_uses=(ODD,), social_impact=ODD,
        licence_overrides={"images": Licence(name="a](b) <i>", url="https://x.org/a)<b>")},
    )  # fmt: skip
    text = text_of(items, p=p, model="a`b")
    body = text.split("\n---\n", 1)[1]
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(body)
    plain = html.unescape(re.sub("<[^>]+>", "", shown.replace("\n", " ")))
    assert plain.count(ODD) == 6
    assert "<b>" not in shown and "<i>" not in shown and 'href="z"' not in shown and 'href="b"' not in shown
    assert yaml.safe_load(text.split("---\n")[1])["pretty_name"] == f"{ODD} 1.0.0"
    assert "<code>a`b</code>" in shown


def test_the_card_states_nothing_that_nobody_stated(items, text_of):
    bare = replace(P, licence_overrides={}, include_images=True)
    people = [replace(item, simulated=False) for item in items]
    text = text_of(people, p=bare)
    assert not re.search("English|template|crowdsourced|original|language:|For evaluation only", text)
    assert "- images: No licence of the images is stated." in text
    only_test = [replace(item, split="test") for item in items]
    assert "`clip-hard` has only the split `test`." in text_of(only_test) and "`validation`" not in text_of(
        only_test
    )


def test_a_rehearsal_says_so_before_anything_else(items, text_of):
    text = text_of([replace(item, rehearsal=True) for item in items])
    assert "THIS IS A REHEARSAL, NO BENCHMARK" in text and "# REHEARSAL of Tiny 1.0.0" in text


def test_the_card_says_how_many_votes_each_uq_rests_on_and_how_many_on_one(items, text_of):
    text = text_of(items)  # (2 * 1 + 5 * 2 + 13 * 3) / 20 = 2.55
    assert (
        "8 annotators, 1 of them excluded (entirely, or from a task on); 2.55 votes that count per UQ; 2 UQs rest on a single vote"
        in text
    )
    assert "7 were decided by an adjudicator" in text
    assert "| 1 | 2 |\n| 2 | 5 |\n| 3 | 13 |" in text and "Alpha is high." in text
    assert "A trial from few votes" not in text and "by the probabilities" not in text


@pytest.mark.parametrize(
    ("people", "votes", "few"), [(1, {1: 9}, True), (3, {1: 9}, True), (2, {2: 9}, True), (3, {2: 9}, False)]
)
def test_a_trial_from_few_votes_says_so_before_everything_else(items, text_of, people, votes, few):
    judged = VoteCounts(
        annotators=people,
        excluded=0,
        uqs_by_votes=votes,
        agreement_text="",
        label_error_text="0.10% (0.05% to 0.20%)",
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
