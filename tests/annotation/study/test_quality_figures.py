import msgspec

from annotation.study.quality_figures import Quality
from tests.annotation.study.conftest import V, X, quality


def test_the_figures_are_those_of_the_verdicts():
    found = quality()
    # Nine given; cem's three are out; ben failed the filter of b. c's filter is refuted (all three contradict), so it fails nobody.
    assert (found.given, found.excluded, found.failed, found.counted) == (9, 3, 1, 5)
    assert [(r.name, r.filters, r.right, r.accuracy, r.failed) for r in found.annotators] == [
        ("ann", 2, 2, 1.0, 0),
        ("ben", 2, 1, 0.5, 1),
        ("cem", 2, 0, 0.0, 0),
    ]
    assert found.annotators[2].excluded == ("accuracy: 0 of 2 filter questions (0.0%), below 50%",)
    assert [(r.source, r.expected, r.answered, r.right) for r in found.filters] == [("own question", V, 4, 3)]
    assert [(r.picture_id, r.text, r.choices) for r in found.refuted] == [("nc", "filter", {X: 3})]
    (row,) = found.subsets
    assert row.statuses == {
        "unanswerable": 1,
        "answerable": 1,
        "unjudged": 1,
    }  # a: 2 of 2, c: 0 of 2, b: one vote counts
    assert [(v.invalid, v.counted, v.status, v.candidates) for v in row.votes] == [
        (0, 2, "answerable", 1),
        (1, 1, "unjudged", 1),
        (2, 2, "unanswerable", 1),
    ]
    assert found.unanswerable == 1


def test_reading_the_json_gives_the_same_report():
    found = quality()
    assert msgspec.json.decode(msgspec.json.encode(found), type=Quality) == found


def test_agreement_is_told_of_all_verdicts_and_of_those_that_count():
    found = quality()
    assert found.agreement[0].alpha is not None
    pair = next(p for p in found.agreement_given[0].pairs if (p.first, p.second) == ("ben", "cem"))
    assert pair.kappa == 0.0  # ben says X V V, cem V V V: observed 2/3, by chance 2/3 * 1
    sub = next(p for p in found.agreement[0].pairs)
    assert (sub.both, sub.kappa) == (2, 1.0)  # what counts of ann and ben: X X and V V
