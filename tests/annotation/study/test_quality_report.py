"""The quality report and its page."""

import re
from html.parser import HTMLParser

import msgspec
from PIL import Image

from annotation.study.agreement import IntervalEstimate
from annotation.study.answers_table import QualityRules, build_answers_table
from annotation.study.label_error import LabelError
from annotation.study.posteriors import NO_ESTIMATES, Posterior
from annotation.study.quality_control import AccuracyRate, assess_quality, make_rate
from annotation.study.quality_html import (
    format_decimals,
    format_interval,
    format_percent,
    plot_rates,
    render_page,
)
from annotation.study.quality_report import QualityReport, UncertainItem, build_report
from annotation.study.vote_aggregation import verify_candidates
from tests.annotation.study.conftest import (
    RULES,
    U,
    V,
    X,
    candidates,
    crowd,
    quality,
    repeating,
    task,
    verdict,
)

# Quality report


OTHER = {V: X, X: V}


def get_warnings(found):
    """Return all warnings except those on leakage, which the artificial gold questions cause."""
    return [warning for warning in found.warnings if "may be recognised by" not in warning]


def test_figures_match_the_verdicts():
    found = quality()
    # 56 verdicts. The fourteen of cem are excluded. ben failed the gold question of b. That of c is discarded, so nobody fails it.
    assert (
        found.num_verdicts,
        found.num_answers,
        found.num_from_excluded,
        found.num_failed_gold,
        found.num_repeated,
        found.num_counted,
    ) == (*(56, 56, 14, 1, 0, 41),)
    # Known valid: a, c, e, g, i, k, m less c; known invalid: seven.
    assert [
        (r.name, r.gold_accuracy.sensitivity, r.gold_accuracy.specificity, r.num_failed_gold)
        for r in found.annotators
    ] == [
        ("ann", make_rate(7, 7), make_rate(6, 6), 0),
        ("ben", make_rate(6, 7), make_rate(6, 6), 1),
        ("cem", make_rate(0, 7), make_rate(0, 6), 0),
        ("dan", make_rate(7, 7), make_rate(6, 6), 0),
    ]
    assert found.annotators[2].exclusion_reasons == (
        "sensitivity: 0 of 7 invalid gold questions correct (0.0%, 95 % interval up to 35.4%), below 70%",
        "specificity: 0 of 6 valid gold questions correct (0.0%, 95 % interval up to 39.0%), below 80%",
    )
    assert [
        (r.gold_source, r.expected_choice, r.num_answered, r.num_correct) for r in found.gold_questions
    ] == [
        ("own question", X, 21, 20),
        ("own question", V, 18, 18),
    ]
    (discarded,) = found.discarded_gold_questions
    assert (discarded.image_id, discarded.text, discarded.choices, discarded.tasks) == (
        "nc",
        "gold question",
        {X: 4},
        ("c",),
    )
    (row,) = found.subsets
    assert row.statuses == {"unanswerable": 2, "answerable": 12}
    assert found.num_unanswerable == 2 and found.uncertain_items == ()  # all votes are alike
    assert [warning.split(":")[0] for warning in get_warnings(found)] == ["1 gold question is discarded"]


def test_report_round_trips_through_json():
    found = quality()
    assert msgspec.json.decode(msgspec.json.encode(found), type=QualityReport) == found


def build(people, count, said=lambda n: X, posteriors=None):
    """Build the report of a simulated crowd."""
    tasks, answers = crowd(people, count, said)
    assessment = assess_quality(answers, RULES)
    verified = list(verify_candidates(candidates(tasks), assessment.answers, RULES))
    settings = msgspec.structs.asdict(QualityRules())
    rows = [Posterior(candidate_id=key, invalid=value) for key, value in (posteriors or {}).items()]
    estimates = NO_ESTIMATES._replace(posteriors=rows)
    return build_report(assessment, verified, estimates, LabelError(), settings, {f"c{key}" for key in tasks})


def test_suspiciously_good_results_give_a_warning():
    perfect = {name: lambda n, expected: expected for name in "abc"}
    (warning,) = get_warnings(build(perfect, 130))  # 390 right of 390: errors at most 0.98 %
    assert warning.startswith("the results are suspiciously good: 390 of 390 gold questions")
    assert not get_warnings(build(perfect, 50))  # too few to say
    human = {
        name: lambda n, e, slips=slips: OTHER[e] if n % 40 == slips else e for slips, name in enumerate("abc")
    }
    assert "suspiciously good" in get_warnings(build(human, 200))[0]  # every candidate alike
    differ = build(human, 200, said=lambda n: V if n % 2 else X)
    assert "100.0% observed agreement" in get_warnings(differ)[0]


def test_many_exclusions_give_a_warning():
    people = {"a": lambda n, e: e, "b": lambda n, e: X, "c": lambda n, e: X}
    assert get_warnings(build(people, 60))[0].startswith("2 of 3 annotators are excluded")


def test_most_uncertain_items_are_listed():
    people = {name: lambda n, expected: expected for name in "ab"}
    posteriors = {f"c{n:04}": n / 60 for n in range(61)}
    found = build(people, 61, posteriors=posteriors)
    assert len(found.uncertain_items) == 20
    assert (
        found.uncertain_items[0].candidate_id == "c0030"
        and found.uncertain_items[0].probability_invalid == 0.5
    )
    assert {row.choices["invalid"] for row in found.uncertain_items} == {2}


def test_gold_leakage_gives_a_warning():
    found = quality()  # The gold question is always second.
    place = next(row for row in found.gold_leakage if row.cue == "position in the task")
    assert place.auroc == 1.0
    assert (
        "gold questions may be recognised by position in the task: AUROC 1.00 (1.00 to 1.00)"
        in found.warnings
    )


def small(tasks, verdicts, overlap):
    assessment = assess_quality(build_answers_table(tasks, verdicts), RULES)
    verified = list(verify_candidates(candidates(tasks), assessment.answers, RULES))
    return build_report(
        assessment, verified, NO_ESTIMATES, LabelError(), msgspec.structs.asdict(QualityRules()), overlap
    )


def test_retest_uses_annotators_and_overlap_only():
    tasks = {"a": task("a"), "b": repeating("b", "a"), "c": task("c"), "d": repeating("d", "c")}
    said = [
        verdict(key, who, X, X if key in "bd" else V, n)
        for who in ("x", "adjudicator-01")
        for n, key in enumerate(tasks)
    ]
    assert small(tasks, said, {"ca", "cc"}).retest.num_repeated == 2
    assert (
        small(tasks, said, {"ca"}).retest.num_repeated == 1
        and small(tasks, said, set()).retest.num_repeated == 0
    )


def test_unsure_candidates_are_in_doubt():
    tasks = {"a": task("a"), "b": task("b")}
    said = [verdict(key, who, U if key == "a" else V, V) for key in tasks for who in "xyz"]
    found = small(tasks, said, set())
    assert found.doubtful == {"ca": 0.0} and [row.candidate_id for row in found.uncertain_items] == ["ca"]


def test_missing_invalid_gold_questions_give_a_warning():
    tasks = {key: task(key, V) for key in "abc"}
    verdicts = [verdict(key, who, V, V, n) for n, key in enumerate(tasks) for who in ("ann", "ben")]
    found = small(tasks, verdicts, {f"c{key}" for key in tasks})
    assert found.num_invalid_gold_answers == 0 and quality().num_invalid_gold_answers == 21
    assert "no answered gold question is known to be unanswerable" in get_warnings(found)[0]


def test_no_unanswerable_candidates_give_a_warning():
    human = {f"human {n}": lambda key, known: known for n in range(3)}
    assert (
        "none of 30 judged candidates is verified as unanswerable"
        in get_warnings(build(human, 30, said=lambda n: V))[0]
    )
    assert not any(
        "none of" in warning for warning in get_warnings(build(human, 30, said=lambda n: X if n else V))
    )


# Quality HTML


HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)> \"{{ 7 * 7 }}\" ${1+1} &amp; \u202eabc \U0001f600"


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


def test_page_is_self_contained_without_scripts():
    html = render_page(quality())
    seen = Text(html)
    assert not {"script", "link", "iframe", "object", "img", "image", "foreignobject"} & seen.tags
    assert not [a for a in seen.attributes if a[0].startswith("on") or a[0] in ("src", "href", "xlink:href")]
    assert re.findall(r"url\((?!#)[^)]*\)|@import", html) == []
    assert "default-src 'none'" in html


def test_the_same_report_gives_the_same_bytes():
    first = render_page(quality())
    render_page(quality(ann="other"))  # drawing something else in between changes nothing
    assert render_page(quality()) == first


def test_hostile_text_is_escaped_in_tables_and_plots():
    html = render_page(quality(ann=HOSTILE, text=HOSTILE))
    seen = Text(html)
    assert not {"script", "img"} & seen.tags
    assert seen.text.count(HOSTILE) >= 2  # the table of annotators, and the discarded gold question
    assert "49" not in "".join(t for t in seen.text if "7 * 7" in t)  # no template ran
    assert any(
        t.startswith("<script>alert('x')") for t in seen.text if t != HOSTILE
    )  # cut short in a plot, still text


def test_simulated_verdicts_are_marked_at_the_top():
    html = render_page(quality(simulated=True))
    assert "<title>Annotation quality (simulated)</title>" in html
    assert html.index("Simulated verdicts.") < html.index("<svg")
    assert "imulated" not in render_page(quality()).replace('class="simulated"', "").replace(".simulated", "")


def test_known_times_are_shown():
    assert "<td>7.5</td>" in render_page(quality(seconds=7.5)) and "<td>7.5</td>" not in render_page(
        quality()
    )


def test_undefined_values_are_dashes():
    assert (format_percent(None), format_decimals(None)) == ("–", "–")
    assert (format_percent(0.125), format_percent(0.125, 0), format_decimals(0.125, 3)) == (
        "12.5%",
        "12%",
        "0.125",
    )


def test_plot_is_labelled():
    drawing = plot_rates(quality())
    assert drawing.startswith("<svg")
    texts = ("sensitivity", "specificity", ">ann<", ">ben<", ">cem<", ">dan<", "answered correctly")
    assert [text for text in texts if text not in drawing] == []


def test_rates_are_shown_with_intervals():
    assert str(make_rate(45, 50)) == "45 of 50, 90% (79% to 96%)"
    assert str(AccuracyRate(num_correct=0, num_answered=0)) == format_interval(IntervalEstimate()) == "–"
    assert (
        format_interval(IntervalEstimate(value=0.5, low=0.25, high=0.75), 1)
        == format_interval((0.5, 0.25, 0.75), 1)
        == "0.5 (0.2 to 0.8)"
    )


def test_warnings_come_first():
    html = render_page(quality())
    assert html.index("Warning.") < html.index("<svg") and "1 gold question is discarded" in html


def test_uncertain_items_show_images_and_escape_text(tmp_path):
    Image.new("RGB", (600, 300), "red").save(tmp_path / "n1.png")
    worst = UncertainItem(
        candidate_id="c",
        subset="pt-easy",
        image_id="n1",
        text=HOSTILE,
        choices={"valid": 2, "invalid": 1},
        probability_invalid=0.4,
    )
    report = msgspec.structs.replace(quality(), uncertain_items=(worst,))
    seen = Text(render_page(report, {"n1": str(tmp_path / "n1.png")}))
    (image,) = [value for name, value in seen.attributes if name == "src"]
    assert image.startswith("data:image/jpeg;base64,") and len(image) < 17_000
    assert HOSTILE in seen.text and "2 valid, 1 invalid" in "".join(seen.text)
    assert "script" not in seen.tags
    assert "img" not in Text(render_page(report)).tags  # as in a release without images


def test_many_discarded_gold_questions_are_named_with_their_people():
    # 3 % of 14 are less than one, and one may always be discarded.
    for wrong, is_named in ((1, False), (2, True)):
        people = {name: lambda n, e, wrong=wrong: OTHER[e] if n < wrong else e for name in "abc"}
        found = [text for text in build(people, 14).warnings if "collect.max_discarded_rate (3%)" in text]
        assert bool(found) is is_named
        if is_named:
            assert (
                found[0].startswith("2 of 14 gold questions of source")
                and "a, b, c contradict them" in found[0]
            )


def test_a_study_is_a_trial_as_long_as_its_error_is_unknown_or_too_few_people_vote():
    right = {name: lambda n, e: e for name in "abc"}
    few, enough = build({"a": right["a"]}, 40), build(right, 40)
    assert few.doubts[0].startswith("the votes that count are those of 1 person.") and few.max_share == 1
    assert [doubt.split(":")[0] for doubt in enough.doubts] == ["the label error is not known"]
    known = LabelError(value=0.0, low=0.0, high=0.03, num_audited=100)
    assert msgspec.structs.replace(enough, label_error=known).doubts == []
    large = msgspec.structs.replace(known, high=0.08, num_wrong=3)
    (doubt,) = msgspec.structs.replace(enough, label_error=large).doubts
    assert doubt.startswith("the label error can be 8.0%, more than 5%: 3 of 100 audited UQs are answerable")
    assert "This study is a trial." in render_page(few)
    (doubt, _) = msgspec.structs.replace(enough, max_share=0.7).doubts
    assert doubt == "one person gave 70% of the votes that count, more than 50%"
