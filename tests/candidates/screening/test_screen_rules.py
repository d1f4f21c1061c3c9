import msgspec
import pytest

from pipeline.candidates.screening import screen_rules as rules
from pipeline.core.records import Candidate, Edit
from tests.candidates.screening.in_memory import SCENE, SIZE, VOCABULARY, kept_or_why, screen
from tests.candidates.screening.rule_cases import CASES
from tests.notation import question, steps


@pytest.mark.parametrize(
    "what, source, text, semantic, edits, expected", CASES, ids=[row[0] for row in CASES]
)
def test_a_candidate_goes_for_the_first_reason_that_holds(what, source, text, semantic, edits, expected):
    assert kept_or_why(source, text, semantic, edits) == expected


def test_rules_that_depend_on_the_image_are_those_that_claim_it_is_answerable():
    # A text that gives its answer away or is said badly is at fault whatever the image shows.
    assert {
        rules.EDITED_WITHOUT_EFFECT,
        rules.ALWAYS_ANSWERABLE,
        rules.ALREADY_ASKED,
        rules.ANSWERABLE_BY_EVIDENCE,
    } == rules.ANSWERABLE_REASONS


def test_of_two_candidates_with_one_text_the_first_stays_in_each_subset():
    asked = question(
        "What is near the cow?", "select: cow (1)->relate: _,near,s (2) [0]->query: name [1]", "pig"
    )
    again = question(
        "What is near the cow?",
        "select: cow (1)->relate: _,near,s (2) [0]->query: name [1]",
        "pig",
        question_id="q2",
    )

    def candidate(number, subset, source):
        return Candidate(
            candidate_id=number,
            subset=subset,
            image_id="n9",
            question_id=source.question_id,
            text=source.text,
            program=source.program,
        )

    rows = [
        candidate("c1", "clip-easy", asked),
        candidate("c2", "clip-easy", again),
        candidate("c3", "clip-hard", again),
    ]
    kept, dropped = screen(rows[::-1], [asked, again], {}, VOCABULARY)
    assert [row.candidate.candidate_id for row in kept] == ["c1", "c3"]
    assert [(d.candidate_id, d.reason) for d in dropped] == [("c2", rules.DUPLICATE_TEXT)]


def test_what_the_source_asked_before_it_was_paraphrased_is_asked_already():
    first = question("What color is the cup?", "select: cup (1)->query: color [0]", question_id="q1")
    said = msgspec.structs.replace(first, text="The cup is what color?", source_text=first.text)
    second = question("What color is the hat?", "select: hat (2)->query: color [0]", question_id="q2")
    edited = Candidate(
        candidate_id="c1",
        subset="pt-easy",
        image_id="n1",
        question_id="q2",
        text=first.text,
        program=first.program,
        edits=(Edit(start=18, end=21, kind="object", old="hat", new="cup", step_index=0),),
    )
    assert [row.reason for row in screen([edited], [said, second], {}, VOCABULARY)[1]] == [
        "already asked of this image"
    ]


def test_the_evidence_that_was_used_is_recorded_and_none_is_not_no_conflict():
    blue = "select: cup (1)->filter color: blue [0]->query: size [1]"
    asked = question(*SIZE)
    candidate = Candidate(
        candidate_id="c1",
        subset="pt-hard",
        image_id="n1",
        question_id="q1",
        text="What size is the blue cup?",
        program=steps(blue),
        edits=(Edit(start=17, end=20, kind="attribute", old="red", new="blue", step_index=1),),
    )
    by_graph, _ = screen([candidate], [asked], {"n1": SCENE}, VOCABULARY)
    by_questions, _ = screen([candidate], [asked], {}, VOCABULARY)
    foreign = Candidate(
        candidate_id="c2",
        subset="clip-hard",
        image_id="n5",
        question_id="q1",
        text=asked.text,
        program=asked.program,
    )
    by_nothing, _ = screen([foreign], [asked], {}, VOCABULARY)
    assert [row[0].verifier_result.evidence_source for row in (by_graph, by_questions, by_nothing)] == [
        "scene graph",
        "other questions",
        "none",
    ]
    assert by_graph[0].verifier_result.answerability == "unknown"  # how much it leaves out is not known
    assert by_nothing[0].verifier_result.answerability == "unknown"


def test_the_papers_filter_depends_only_on_the_question():
    def candidate(text, semantic):
        edits = (Edit(start=0, end=1, kind="object", old="it", new="cup", step_index=0),)
        return Candidate(
            candidate_id=text,
            subset="pt-hard",
            image_id="n1",
            question_id="q1",
            text=text,
            program=steps(semantic),
            edits=edits,
        )

    black = candidate(
        "What color are the black shoes?", "select: shoes (1)->filter color: black [0]->query: color [1]"
    )
    twice = candidate("Is it red or red?", "select: cup (1)->choose color: red|red [0]")
    # Ours alone: a slip of grammar; the name that was put in is asked for; a place is to be seen everywhere.
    slip = candidate("What size is the the cup?", "select: cup (1)->query: size [0]")
    named = candidate("What is the cup called?", "select: cup (1)->query: name [0]")
    place = candidate("What place is this?", "select: scene->query: place [0]")
    assert rules.apply_conflict_filter([black, slip, twice, named, place], VOCABULARY) == [slip, named, place]


def test_the_rules_that_claim_an_answer_are_those_that_the_truth_can_grade():
    # An edit without effect leaves the image's own question; what was asked there has its answer; the last two say so.
    claims = {rule.reason for rule in rules.RULES if rule.claims_answerable}
    assert claims == {
        rules.EDITED_WITHOUT_EFFECT,
        rules.ALREADY_ASKED,
        rules.ALWAYS_ANSWERABLE,
        rules.ANSWERABLE_BY_EVIDENCE,
    }
