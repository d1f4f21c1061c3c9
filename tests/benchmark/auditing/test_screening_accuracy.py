from pipeline.benchmark.auditing.screening_accuracy import compare_with_truth, measure_screening, read_truth
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Candidate
from research.simulated_annotators.answerability import true_answerability
from research.simulated_annotators.word_senses import WordSenses
from tests.notation import scene, steps

WORDS = WordSenses(categories={}, attribute_types={"red": "color", "blue": "color"})


def candidate(program, key="a"):
    return Candidate(
        candidate_id=key, subset="pt-easy", image_id="p", question_id=key, text="", program=steps(program)
    )


def with_truth(candidates, truth):
    return [(row, truth[row.candidate_id]) for row in candidates]


def test_true_answerability_follows_from_the_complete_graph():
    table = scene("table 1: red")
    assert true_answerability(steps("select: table (1)->query: color [0]"), table, WORDS) == "answerable"
    assert true_answerability(steps("select: lamp (1)->query: color [0]"), table, WORDS) == "unanswerable"
    assert true_answerability(steps("select: table (1)->query: smell [0]"), table, WORDS) == "unknown"


def test_undecidable_candidates_are_counted_and_excluded_from_proportions():
    # a and b are unanswerable, c is answerable, d and e are undecidable. a, c and d were kept; b and e were dropped as answerable.
    candidates = [candidate("select: table (1)", key) for key in "abcde"]
    truth = dict(
        zip("abcde", ("unanswerable", "unanswerable", "answerable", "unknown", "unknown"), strict=True)
    )
    row = compare_with_truth(with_truth(candidates, truth), kept=set("acd"), dropped_as_answerable=set("be"))[
        "pt-easy"
    ]
    assert (row.kept, row.dropped, row.undecidable, row.dropped_as_answerable) == (3, 2, 2, 2)
    assert (row.precision, row.recall, row.false_drop_rate) == (
        0.5,
        0.5,
        1.0,
    )  # a of a and c; a of a and b; b of b


def test_without_truth_there_is_no_screening_accuracy(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    assert read_truth(DatasetFolders("nowhere")) == {}
    assert measure_screening(DatasetFolders("nowhere"), {}) == {}
    assert set(read_truth(DatasetFolders())) and all(
        known.is_complete for known in read_truth(DatasetFolders()).values()
    )


def test_precision_recall_and_false_drops_of_a_worked_example():
    # Of six candidates, a to d are unanswerable. Kept are a, b and e: precision 2/3, recall 2/4. Dropped as answerable are c and f,
    # one of which is unanswerable. d was dropped because of its text, which is not a false drop.
    candidates = [
        Candidate(candidate_id=i, subset="pt-easy", image_id="p", question_id=i, text="") for i in "abcdef"
    ]
    truth = dict.fromkeys("abcd", "unanswerable") | dict.fromkeys("ef", "answerable")
    found = compare_with_truth(
        with_truth(candidates, truth), kept=set("abe"), dropped_as_answerable=set("cf")
    )["pt-easy"]
    assert (found.precision, found.recall, found.false_drop_rate) == (0.6667, 0.5, 0.5)
    assert (found.kept, found.dropped, found.unanswerable, found.dropped_as_answerable) == (3, 3, 4, 2)


def test_a_subset_without_drops_has_no_false_drop_rate():
    candidates = [Candidate(candidate_id="a", subset="clip-easy", image_id="p", question_id="a", text="")]
    assert (
        compare_with_truth([(candidates[0], "unanswerable")], {"a"}, set())["clip-easy"].false_drop_rate
        is None
    )
