"""Which of several draws of an edit is taken."""

from collections import defaultdict
from pathlib import Path

import pytest

from pipeline.core.files import write_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import Alternatives, Candidate, Tagged, TextScore
from pipeline.perturbing.alternatives import RankedInputs, perturb_and_rank, text_scores
from pipeline.perturbing.perturb_picture import PerturbInputs
from pipeline.perturbing.replacements import PerturbParams, Replacements
from tests.notation import question
from tests.pipeline.perturbing.small_vocabulary import vocabulary

TEXT = "What color is the cup?"
NAMES = ("kite", "vase", "ball", "drum", "igloo", "lemon")
ASKED = [question(TEXT, "select: cup (1)->query: color [0]", "red", question_id=f"q{i}") for i in range(20)]


@pytest.fixture(scope="module")
def perturb_inputs():
    by_picture = defaultdict(list)
    for row in ASKED:
        by_picture[row.picture_id].append(row)
    replacements = Replacements(vocabulary(*NAMES), PerturbParams(seed=1))
    return PerturbInputs(by_picture, lambda picture: None, {TEXT: Tagged(text=TEXT, words=())}, replacements)


def ranked(inputs, draws, scores):
    """candidate id of PT-Easy -> its text; the alternatives of PT-Easy by the same."""
    rows = [
        row
        for picture in inputs.questions
        for row in perturb_and_rank(RankedInputs(inputs, draws, scores), picture)
        if row.subset == "pt-easy"
    ]
    return [
        {row.candidate_id: row for row in rows if isinstance(row, kind)} for kind in (Candidate, Alternatives)
    ]


def scored(*best):
    """Scores of all texts there can be, the best first."""
    order = [*best, *(name for name in NAMES if name not in best)]
    return {f"What color is the {name}?": -float(i) for i, name in enumerate(order)}


def test_one_draw_leaves_nothing_to_choose(perturb_inputs):
    candidates, alternatives = ranked(perturb_inputs, 1, scored("lemon"))
    assert len(candidates) == len(ASKED) and not alternatives


def test_more_draws_begin_with_the_same_one_and_are_of_different_words(perturb_inputs):
    first = ranked(perturb_inputs, 1, {})[0]
    candidates, alternatives = ranked(perturb_inputs, 4, {})
    assert {name: row.text for name, row in candidates.items()} == {
        name: row.text for name, row in first.items()
    }
    assert all(first[name].text == row.texts[0] and row.scores == () for name, row in alternatives.items())
    assert all(len(set(row.texts)) == len(row.texts) in (2, 3, 4) for row in alternatives.values())
    # 4 draws of 6 words are alike once in 216: of 20 questions, in none or one
    assert len(alternatives) >= 19


def test_draws_do_not_depend_on_how_many_there_are(perturb_inputs):
    few, many = ranked(perturb_inputs, 3, {})[1], ranked(perturb_inputs, 9, {})[1]
    assert all(many[name].texts[: len(row.texts)] == row.texts for name, row in few.items())


def test_the_text_with_the_highest_score_is_taken_with_its_edits(perturb_inputs):
    scores = scored("igloo", "drum")
    candidates, alternatives = ranked(perturb_inputs, 4, scores)
    for name, row in alternatives.items():
        assert row.scores == tuple(scores[text] for text in row.texts)
        assert candidates[name].text == row.texts[row.scores.index(max(row.scores))]
        assert [edit.new for edit in candidates[name].edits] == [candidates[name].text[18:-1]]
    assert any(candidates[name].text != row.texts[0] for name, row in alternatives.items())


def test_where_a_text_has_no_score_the_first_is_taken(perturb_inputs):
    scores = scored("igloo")
    del scores["What color is the kite?"]
    candidates, alternatives = ranked(perturb_inputs, 4, scores)
    with_kite = {name: row for name, row in alternatives.items() if "What color is the kite?" in row.texts}
    assert 0 < len(with_kite) < len(alternatives)
    for name, row in with_kite.items():
        assert (candidates[name].text, row.scores) == (row.texts[0], ())


def test_scores_are_read_where_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text("dataset: few\nfew: {}\n")
    assert text_scores(Folders()) == {}
    write_jsonl("data/few/plausibility/scores.jsonl", [TextScore(text="A?", score=-2.5, model="m")])
    assert text_scores(Folders()) == {"A?": -2.5}
