from pipeline.auditing.screen_check import screening
from pipeline.core.records import Candidate


def test_precision_recall_and_false_drops_of_a_worked_example():
    # Six candidates, a-d truly unanswerable. Kept: a, b, e -> precision 2/3, recall 2/4. Held answerable: c, f -> one
    # of two was in truth unanswerable. d was dropped for its text, which is no false drop.
    candidates = [
        Candidate(candidate_id=i, subset="pt-easy", picture_id="p", question_id=i, text="") for i in "abcdef"
    ]
    truth = dict.fromkeys("abcd", "unanswerable") | dict.fromkeys("ef", "answerable")
    found = screening(candidates, truth, kept=set("abe"), held_answerable=set("cf"))["pt-easy"]
    assert (found.precision, found.recall, found.false_drop_rate) == (0.6667, 0.5, 0.5)
    assert (found.kept, found.dropped, found.unanswerable, found.held_answerable) == (3, 3, 4, 2)


def test_a_subset_without_drops_has_no_false_drop_rate():
    candidates = [Candidate(candidate_id="a", subset="clip-easy", picture_id="p", question_id="a", text="")]
    assert screening(candidates, {"a": "unanswerable"}, {"a"}, set())["clip-easy"].false_drop_rate is None
