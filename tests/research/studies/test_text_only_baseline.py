from pipeline.benchmark.balancing.pairing import BalanceParams
from pipeline.core.records import Candidate, Question, make_candidate_id
from research.studies.text_only_baseline import (
    OUR_BALANCED_RULES,
    OUR_UNBALANCED_RULES,
    PAPER_RULES,
    attack_candidates,
    balance_candidates,
    render_table,
)


def pairs(new, count=60):
    questions, candidates = {}, []
    for i in range(count):
        common = {"question_id": f"q{i}", "image_id": f"n{i}"}
        questions[f"q{i}"] = Question(
            **common, split="testdev", text=f"Where is the cup number {i}?", answer="left"
        )
        candidates.append(
            Candidate(
                **common,
                candidate_id=make_candidate_id("pt-easy", f"n{i}", f"q{i}"),
                subset="pt-easy",
                text=f"Where is the {new} number {i}?",
            )
        )
    return candidates, questions


def test_a_word_that_only_edited_questions_have_leaks_the_label():
    found = attack_candidates(*pairs("unicorn"), folds=5, repetitions=50, seed=1, max_pairs=1000)
    assert (found.num_questions, found.num_candidates, found.num_pairs) == (60, 60, 60)
    assert found.attacks["word n-grams"].auroc == found.worst_auroc == 1.0


def test_edited_questions_like_their_originals_leak_nothing():
    found = attack_candidates(*pairs("cup"), folds=5, repetitions=50, seed=1, max_pairs=1000)
    # None: no other questions are known.
    assert {attack.auroc for attack in found.attacks.values()} == {0.5, None}
    assert found.worst_auroc == 0.5


def test_of_many_pairs_some_are_sampled_with_their_originals():
    found = attack_candidates(*pairs("unicorn"), folds=5, repetitions=50, seed=1, max_pairs=28)
    assert (found.num_candidates, found.num_pairs, found.attacks["word n-grams"].groups) == (60, 28, 28)


def test_the_table_has_a_row_for_each_subset_and_rule():
    one = attack_candidates(*pairs("unicorn", 30), folds=5, repetitions=50, seed=1, max_pairs=1000)
    text = render_table(
        {
            rules: {"pt-easy": one, "pt-hard": one}
            for rules in (OUR_BALANCED_RULES, OUR_UNBALANCED_RULES, PAPER_RULES)
        }
    )
    lines = text.split("\n")
    assert len(lines) == 8 and len({line.count("|") for line in lines}) == 1
    assert "| pt-hard | ours, balanced | 30 | 1.000 [1.00, 1.00] |" in text
    assert text.count("| 1.000 | 0.58 |") == text.count("| 1.000 | 0.62 |") == 2


def test_balancing_drops_pairs_with_telltale_words():
    # As in `find_telltale_pairs`: each of 60 pairs replaces "cup" by "unicorn", and at most half of them may be dropped.
    candidates, questions = pairs("unicorn")
    assert len(balance_candidates(candidates, questions, BalanceParams(max_dropped_proportion=0.5))) == 30
    assert balance_candidates([], questions, BalanceParams()) == []
