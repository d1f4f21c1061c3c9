import pytest

from pipeline.core.errors import UserError
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.wups import Taxonomy, read_wordnet, score_wups, wups
from tests.scoring.conftest import vqa_answered

# entity - animal - dog - puppy
#                 - cat
#        - artefact - hot dog, "dog" in its second sense (a frankfurter, say)
LINES = """  1 A licence stands on top of WordNet's files.
00000001 03 n 01 entity 0 002 ~ 00000002 n 0000 ~ 00000006 n 0000 | all there is
00000002 03 n 01 animal 0 001 @ 00000001 n 0000 | lives
00000003 05 n 02 dog 0 domestic_dog 0 002 @ 00000002 n 0000 ~ 00000005 n 0000 | barks
00000004 05 n 01 cat 0 001 @ 00000002 n 0000 | purrs
00000005 05 n 01 puppy 0 001 @ 00000003 n 0000 | small
00000006 06 n 01 artefact 0 001 @ 00000001 n 0000 | made
00000007 13 n 02 hot_dog 0 dog 1 001 @ 00000006 n 0000 | eaten
00000008 18 n 01 Rex 0 001 @i 00000003 n 0000 | a dog of that name
"""


@pytest.fixture
def taxonomy(tmp_path):
    (tmp_path / "data.noun").write_text(LINES)
    return read_wordnet(tmp_path)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("dog", "cat", 4 / 6),  # common: animal, depth 2; one step down to each: 2 x 2 / (1 + 1 + 2 x 2)
        ("puppy", "dog", 6 / 7),  # common: dog, depth 3; one step and none
        ("puppy", "cat", 4 / 7),  # animal: two steps and one
        ("hot dog", "dog", 1.0),  # the same sense, the second of "dog"
        ("hot dog", "cat", 2 / 6),  # entity, depth 1; two steps down to either
        ("domestic dog", "dog", 1.0),
        ("rex", "dog", 6 / 7),
        ("cat", "cat", 1.0),
        ("unheard", "unheard", 1.0),
        ("unheard", "cat", 0.0),
    ],
)
def test_wu_palmer_in_a_small_taxonomy(taxonomy, one, other, expected):
    assert taxonomy.similarity(one, other) == pytest.approx(expected)
    assert taxonomy.similarity(other, one) == pytest.approx(expected)


def test_acm_is_the_mean_over_human_answers_and_mcm_the_best(taxonomy):
    people = [["dog", "cat", "cat"]]
    assert wups(["puppy"], people, taxonomy, threshold=0.0)[0] == pytest.approx((6 / 7 + 4 / 7 + 4 / 7) / 3)
    assert wups(["puppy"], people, taxonomy, threshold=0.0, consensus="max")[0] == pytest.approx(6 / 7)
    # Below the threshold a tenth is left.
    assert wups(["puppy"], people, taxonomy, threshold=0.8)[0] == pytest.approx((6 / 7 + 0.1 * 4 / 7 * 2) / 3)
    assert wups(["Dog "], people, taxonomy)[0] == pytest.approx((1 + 2 * 0.1 * 4 / 6) / 3)


def test_a_sense_with_two_parents_takes_the_nearer_way():
    # d is a kind of b (a kind of the root a) and of the root itself: one step to a, depth 1 + longest way below a.
    found = Taxonomy({"d": ("d",), "c": ("c",)}, {"a": (), "b": ("a",), "d": ("b", "a"), "c": ("a",)})
    assert found.similarity("d", "c") == pytest.approx(2 * 1 / (1 + 1 + 2 * 1))


def test_wordnet_may_come_in_two_parts(tmp_path):
    lines = LINES.splitlines(keepends=True)
    (tmp_path / "data.noun1").write_text("".join(lines[:4]))
    (tmp_path / "data.noun2").write_text("".join(lines[4:]))
    assert read_wordnet(tmp_path).similarity("dog", "cat") == pytest.approx(4 / 6)


def test_a_folder_without_wordnet_is_refused(tmp_path):
    with pytest.raises(UserError, match="no data.noun in it"):
        read_wordnet(tmp_path)
    (tmp_path / "data.noun").write_text("not wordnet\n")
    with pytest.raises(UserError, match="line 1: not a line of WordNet"):
        read_wordnet(tmp_path)


def test_a_report_has_both_means_at_both_thresholds(taxonomy):
    joined = vqa_answered([["dog", "cat"]], ["dog"])
    scores = score_wups(joined, ScoringOptions(wordnet=taxonomy))
    # dog - dog 1, dog - cat 4/6, a tenth of it below 0.9.
    assert scores == pytest.approx(
        {"acm_0.9": (1 + 0.4 / 6) / 2, "acm_0.0": (1 + 4 / 6) / 2, "mcm_0.9": 1, "mcm_0.0": 1}
    )
    assert "--resource wordnet=FOLDER" in score_wups(joined, ScoringOptions())["unavailable"]


def test_the_consensus_is_mean_or_max(taxonomy):
    with pytest.raises(ValueError, match="consensus is 'median', expected 'mean'"):
        wups(["dog"], [["dog"]], taxonomy, consensus="median")
