import msgspec
import pytest

from pipeline.candidates.screening import screen_rules as rules
from pipeline.core.records import Candidate, Edit
from tests.candidates.screening.in_memory import SCENE, SIZE, VOCABULARY, kept_or_why, screen
from tests.notation import question, steps

CASES = [  # what is at issue, source question, new text, new program, edits, expected
    (
        "a sound edit stays",
        SIZE,
        "What size is the blue cup?",
        "select: cup (1)->filter color: blue [0]->query: size [1]",
        [("attribute", "red", "blue", 1)],
        "kept",
    ),
    (
        "asked for the colour of something black",
        (
            "What color are the large shoes?",
            "select: shoes (1)->filter size: large [0]->query: color [1]",
            "red",
        ),
        "What color are the black shoes?",
        "select: shoes (-)->filter color: black [0]->query: color [1]",
        [("attribute", "large", "black", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "whether the red cup is red",
        ("Is the large cup red?", "select: cup (1)->filter size: large [0]->verify color: red [1]", "yes"),
        "Is the blue cup red?",
        "select: cup (1)->filter color: blue [0]->verify color: red [1]",
        [("attribute", "large", "blue", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "which side of what is on the left",
        (
            "On which side is the red cup?",
            "select: cup (1)->filter color: red [0]->query: hposition [1]",
            "left",
        ),
        "On which side is the left cup?",
        "select: cup (1)->filter hposition: left [0]->query: hposition [1]",
        [("attribute", "red", "left", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "whether the open door is open",
        ("Is the large door open?", "select: door (1)->filter size: large [0]->verify: open [1]", "yes"),
        "Is the open door open?",
        "select: door (1)->filter: open [0]->verify: open [1]",
        [("attribute", "large", "open", 1)],
        rules.REVEALS_ANSWER,
    ),
    (
        "what the sofa is called",
        (
            "What is the large furniture called?",
            "select: furniture (2)->filter size: large [0]->query: name [1]",
            "table",
        ),
        "What is the large sofa called?",
        "select: sofa (-)->filter size: large [0]->query: name [1]",
        [("object", "furniture", "sofa", 0)],
        rules.REVEALS_ANSWER,
    ),
    (
        "what the furniture is called",
        (
            "What is the large vehicle called?",
            "select: vehicle (9)->filter size: large [0]->query: name [1]",
            "bus",
        ),
        "What is the large furniture called?",
        "select: furniture (-)->filter size: large [0]->query: name [1]",
        [("object", "vehicle", "furniture", 0)],
        "kept",
    ),
    (
        "what he holds who holds the kite",
        (
            "What is the man wearing the hat holding?",
            "select: hat (1)->relate: man,wearing,s (2) [0]->relate: _,holding,o (3) [1]->query: name [2]",
            "kite",
        ),
        "What is the man holding the kite holding?",
        "select: kite (-)->relate: man,holding,s (2) [0]->relate: _,holding,o (3) [1]->query: name [2]",
        [("object", "hat", "kite", 0)],
        rules.REVEALS_ANSWER,
    ),
    (
        "blue or blue",
        ("Is the cup red or blue?", "select: cup (1)->choose color: red|blue [0]", "red"),
        "Is the cup blue or blue?",
        "select: cup (1)->choose color: blue|blue [0]",
        [("attribute", "red", "blue", 1)],
        rules.REPEATED_OPTION,
    ),
    (
        "both sides swapped",
        (
            "Is the cup to the left or to the right of the dog?",
            "select: dog (3)->choose rel: cup,to the left of|to the right of,s (1) [0]",
            "left",
        ),
        "Is the cup to the right or to the left of the dog?",
        "select: dog (3)->choose rel: cup,to the right of|to the left of,s (1) [0]",
        [("relation", "left", "right", 1)],
        rules.EDITED_WITHOUT_EFFECT,
    ),
    (
        "the same text",
        SIZE,
        "What size is the red cup?",
        SIZE[1],
        [("attribute", "red", "red", 1)],
        rules.EDITED_WITHOUT_EFFECT,
    ),
    (
        "an asserted and a presupposed colour",
        ("Is the red dog large?", "select: dog (3)->filter color: red [0]->verify size: large [1]", "yes"),
        "Is the blue dog small?",
        "select: dog (3)->filter color: blue [0]->verify size: small [1]",
        [("attribute", "red", "blue", 1), ("attribute", "large", "small", 2)],
        "kept",
    ),
    (
        "known to hold in the image",
        (
            "What is the blue cup on?",
            "select: cup (4)->filter color: blue [0]->relate: _,on,o (5) [1]->query: name [2]",
            "bed",
        ),
        "What is the red cup on?",
        "select: cup (4)->filter color: red [0]->relate: _,on,o (5) [1]->query: name [2]",
        [("attribute", "blue", "red", 1)],
        rules.ANSWERABLE_BY_EVIDENCE,
    ),
]


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
