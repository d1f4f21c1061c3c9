import re
from html.parser import HTMLParser

import msgspec
import pytest

from annotation.client.show_quality import lines
from annotation.study.habits import Limits, habits
from annotation.study.quality import accuracies, refuted
from annotation.study.quality_figures import Quality, summary
from annotation.study.quality_page import page
from annotation.study.votes import set_aside, verify
from pipeline.core.records import Candidate, Judgement, Screened, Task, TaskQuestion, Verdict

V, I, U = "valid", "invalid", "unsure"
SETTINGS = {
    "rule": "majority",
    "min_votes": 2,
    "min_filter_accuracy": 0.8,
    "min_filter_answers": 2,
    "excluding": ["accuracy"],
    "fast_seconds": 3.0,
    "max_fast": 0.25,
    "max_excess": 0.2,
    "flag_level": 0.001,
    "min_posterior": 0.95,
}
HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)> \"{{ 7 * 7 }}\" ${1+1} &amp; \u202eabc \U0001f600"


def quality(ann="ann", text="filter", simulated=False, seconds=None):
    """Three tasks, judged by three; the last fails two of three filters and is excluded; the filter of c is refuted."""
    tasks = {
        key: Task(
            task_id=key,
            picture_id=f"n{key}",
            subset="clip-hard",
            first=TaskQuestion(key="1", text="candidate", role="candidate", candidate_id=f"c{key}"),
            second=TaskQuestion(key="2", text=text, role="filter", expected=V, source="own question"),
        )
        for key in "abc"
    }
    given = {
        ann: {"a": (I, V), "b": (I, U), "c": (V, I)},
        "ben": {"a": (I, V), "b": (V, I), "c": (V, I)},
        "cem": {"a": (V, I), "b": (V, I), "c": (V, I)},
    }
    verdicts = [
        Verdict(
            verdict_id=who + key,
            task_id=key,
            annotator=who,
            first=first,
            second=second,
            order=n,
            seconds=seconds,
            simulated=simulated,
        )
        for who, row in given.items()
        for n, (key, (first, second)) in enumerate(row.items())
    ]
    screened = [
        Screened(
            candidate=Candidate(
                candidate_id=f"c{k}", subset="clip-hard", picture_id="n", question_id="q", text="candidate"
            ),
            judgement=Judgement(answerability="unknown"),
        )
        for k in "abc"
    ]
    wrong = refuted(tasks, verdicts)
    found = accuracies(tasks, verdicts, wrong)
    out = {"cem": ["accuracy: 0 of 2"]}
    aside = set_aside(tasks, verdicts, out, wrong)
    verified = verify(screened, tasks, verdicts, {row.verdict_id for row in aside}, "majority", 2)
    how = habits(tasks, verdicts, Limits())
    return summary(tasks, verdicts, verified, aside, found, how, out, wrong, [], [], SETTINGS)


class Text(HTMLParser):
    """What a reader sees, and which elements there are."""

    def __init__(self, html):
        super().__init__()
        self.text, self.tags, self.attributes = [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def test_the_figures_are_those_of_the_verdicts():
    found = quality()
    # Nine given; cem's three are out; ben failed the filter of b. c's filter is refuted (all three contradict), so it fails nobody.
    assert (found.given, found.excluded, found.failed, found.counted) == (9, 3, 1, 5)
    assert [(r.name, r.filters, r.right, r.accuracy, r.failed) for r in found.annotators] == [
        ("ann", 2, 2, 1.0, 0),
        ("ben", 2, 1, 0.5, 1),
        ("cem", 2, 0, 0.0, 0),
    ]
    assert found.annotators[2].excluded == ("accuracy: 0 of 2",)
    assert [(r.source, r.expected, r.answered, r.right) for r in found.filters] == [("own question", V, 4, 3)]
    assert [(r.picture_id, r.text, r.choices) for r in found.refuted] == [("nc", "filter", {I: 3})]
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


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing():
    html = page(quality())
    seen = Text(html)
    assert not {"script", "link", "iframe", "object", "img", "image", "foreignobject"} & seen.tags
    assert not [a for a in seen.attributes if a[0].startswith("on") or a[0] in ("src", "href", "xlink:href")]
    assert re.findall(r"url\((?!#)[^)]*\)|@import", html) == []
    assert "default-src 'none'" in html


def test_the_same_report_gives_the_same_bytes():
    first = page(quality())
    page(quality(ann="other"))  # drawing something else in between changes nothing
    assert page(quality()) == first


def test_hostile_text_shows_as_text_in_tables_and_plots():
    html = page(quality(ann=HOSTILE, text=HOSTILE))
    seen = Text(html)
    assert not {"script", "img"} & seen.tags
    assert seen.text.count(HOSTILE) >= 2  # the table of accuracy, and the refuted filter
    assert "49" not in "".join(t for t in seen.text if "7 * 7" in t)  # no template ran
    assert any(
        t.startswith("<script>alert('x')") for t in seen.text if t != HOSTILE
    )  # cut short in a plot, still text


def test_simulated_verdicts_are_marked_first_of_all_and_people_are_not():
    html = page(quality(simulated=True))
    assert "<title>Quality of the verdicts (simulated)</title>" in html
    assert html.index("Simulated verdicts. Programs") < html.index("<svg")
    assert lines(quality(simulated=True))[0].startswith("SIMULATED VERDICTS")
    assert "imulated" not in page(quality()).replace('class="simulated"', "").replace(".simulated", "")


@pytest.mark.parametrize("seconds", [None, 7.5])
def test_pace_is_drawn_only_if_times_are_known(seconds):
    html = page(quality(seconds=seconds))
    assert ("No times are known" in html) == (seconds is None)
    assert ("seconds for a task" in html) == (seconds is not None)


def test_what_is_undefined_is_a_dash_and_null():
    found = quality()
    assert found.agreement[0].alpha is not None
    pair = next(p for p in found.agreement_given[0].pairs if (p.first, p.second) == ("ben", "cem"))
    assert pair.kappa == 0.0  # ben says I V V, cem V V V: observed 2/3, by chance 2/3 * 1
    sub = next(p for p in found.agreement[0].pairs)
    assert (sub.both, sub.kappa) == (2, 1.0)  # what counts of ann and ben: I I and V V


def test_the_short_form_names_who_is_excluded_and_why():
    told = "\n".join(lines(quality()))
    assert "excluded: accuracy: 0 of 2" in told
    assert "clip-hard: 1 answerable, 1 unanswerable, 1 unjudged; alpha" in told
