from pipeline.core.records import Candidate, Edit
from pipeline.screening import screen_rules as rules
from pipeline.screening.screen_picture import pass_conflict_filter
from tests.notation import question, steps
from tests.pipeline.screening.in_memory import SCENE, SIZE, VOCABULARY, screen


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
            picture_id="n9",
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
    assert [(d.candidate_id, d.reason) for d in dropped] == [("c2", rules.TWIN)]


def test_the_evidence_that_was_used_is_recorded_and_none_is_not_no_conflict():
    blue = "select: cup (1)->filter color: blue [0]->query: size [1]"
    asked = question(*SIZE)
    candidate = Candidate(
        candidate_id="c1",
        subset="pt-hard",
        picture_id="n1",
        question_id="q1",
        text="What size is the blue cup?",
        program=steps(blue),
        edits=(Edit(start=17, end=20, kind="attribute", old="red", new="blue", step=1),),
    )
    by_graph, _ = screen([candidate], [asked], {"n1": SCENE}, VOCABULARY)
    by_questions, _ = screen([candidate], [asked], {}, VOCABULARY)
    foreign = Candidate(
        candidate_id="c2",
        subset="clip-hard",
        picture_id="n5",
        question_id="q1",
        text=asked.text,
        program=asked.program,
    )
    by_nothing, _ = screen([foreign], [asked], {}, VOCABULARY)
    assert [row[0].judgement.evidence for row in (by_graph, by_questions, by_nothing)] == [
        "scene graph",
        "other questions",
        "none",
    ]
    assert by_graph[0].judgement.answerability == "unanswerable"  # the only cup is red
    assert by_nothing[0].judgement.answerability == "unknown"


def test_the_papers_filter_looks_at_the_question_alone():
    def candidate(text, semantic):
        edits = (Edit(start=0, end=1, kind="object", old="it", new="cup", step=0),)
        return Candidate(
            candidate_id=text,
            subset="pt-hard",
            picture_id="n1",
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
    assert pass_conflict_filter([black, slip, twice, named, place], VOCABULARY) == [slip, named, place]
