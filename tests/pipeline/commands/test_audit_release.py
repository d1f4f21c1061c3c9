"""`rgqa audit`: text-only attackers on any benchmark in RGQA's format."""

import json

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.commands.audit_release import attack_texts, read_subsets
from pipeline.core.errors import UserError


def row(number, text, unanswerable):
    identity = f"ptEasy_n{number}+{number}" if unanswerable else str(1000 + number)
    return {
        "img_id": f"n{number}",
        "question_id": identity,
        "sent": text,
        "label": {"UQ": 1.0} if unanswerable else {"red": 1.0},
    }


def rows(unanswerable_word, answerable_word, count=40):
    words = [(unanswerable_word, True), (answerable_word, False)]
    return [
        row(i, f"What color is the {word} number {i}?", label) for i in range(count) for word, label in words
    ]


def written(path, value):
    path.write_text(json.dumps(value))
    return path


def test_a_word_that_only_unanswerable_questions_have_gives_them_away(tmp_path):
    attacks = attack_texts(read_subsets(written(tmp_path / "s.json", rows("unicorn", "cup")))["s"], 5, 50, 0)
    assert attacks["word n-grams"].auroc == 1.0


def test_texts_that_stand_under_both_labels_give_nothing_away(tmp_path):
    attacks = attack_texts(read_subsets(written(tmp_path / "s.json", rows("cup", "cup")))["s"], 5, 50, 0)
    # Each text once as UQ and once as AQ: all ties. A release tells nothing of other questions.
    assert {name for name, attack in attacks.items() if attack.auroc != 0.5} == {"other questions"}


def test_an_edited_question_and_its_original_are_of_one_group(tmp_path):
    texts = read_subsets(
        written(tmp_path / "s.json", [row(7, "Where is the cat?", True), row(8, "Where is it?", False)])
    )["s"]
    assert [text.source_question for text in texts] == ["7", "1008"]


def test_a_release_has_a_subset_for_each_of_its_files(tmp_path):
    (tmp_path / "rgqa").mkdir()
    for name in ("clip-hard", "pt-easy"):
        written(tmp_path / f"rgqa/{name}.json", rows("dog", "cup", 3))
    assert {name: len(texts) for name, texts in read_subsets(tmp_path).items()} == {
        "clip-hard": 6,
        "pt-easy": 6,
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1}, "wanted a list of {question_id, sent, label}"),
        ([{"question_id": "1", "sent": "Where?"}], "missing required field `label`"),
        ([row(1, "Where?", True)], "got one kind"),
        ([row(1, "", True), row(2, "", False)], "have no words"),
        ([row(1, "", True), row(2, "Where?", False)], f"{row(1, '', True)['question_id']}: no question"),
        ([row(1, "Why?", True), row(2, "Where?", False) | {"label": {}}], "no label"),
        ([row(1, "Why?", True), row(2, "Where?", False), row(1, "Why?", True)], "is there 2 times"),
    ],
)
def test_what_is_no_benchmark_is_refused(tmp_path, value, message):
    with pytest.raises(UserError, match="s.json") as refused:
        read_subsets(written(tmp_path / "s.json", value))
    assert message in str(refused.value)


def test_a_missing_file_ends_with_one_message(tmp_path):
    result = CliRunner().invoke(app, ["audit", str(tmp_path / "nowhere.json")])
    assert (result.exit_code, result.stderr.strip().endswith("nowhere.json: no such file")) == (1, True)


def test_the_table_and_the_figures_are_of_all_subsets(tmp_path):
    benchmark = written(tmp_path / "s.json", rows("unicorn", "cup"))
    result = CliRunner().invoke(app, ["audit", str(benchmark), "--json", str(tmp_path / "audit.json")])
    assert result.exit_code == 0
    assert "worst" in result.stdout and "1.00" in result.stdout
    assert json.loads((tmp_path / "audit.json").read_text())["s"]["word n-grams"]["groups"] == 80
