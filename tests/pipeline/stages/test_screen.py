from __future__ import annotations

import pytest

from pipeline.core.records import Candidate, Edit, ObjectEntry, Scene, SceneObject, Vocabulary
from pipeline.core.records import Relation as To
from pipeline.screening import claims, form
from pipeline.stages.screen import report, screen, tally
from tests.pipeline.perturbing.programs import program, question

VOCABULARY = Vocabulary(
    objects={"cup": ObjectEntry(name="cup", count=1, number="singular", attributes={})},
    attributes={},
    attribute_types={
        "red": "color",
        "blue": "color",
        "black": "color",
        "wood": "material",
        "large": "size",
        "small": "size",
    },
    relations={},
    categories={"furniture": ("table", "chair")},
    places={},
    weathers={},
)

# What picture n1 shows, told by its scene graph (published graphs are incomplete): a red cup on a table, a dog.
SCENE = Scene(
    picture_id="n1",
    split="testdev",
    width=100,
    height=100,
    objects=(
        SceneObject(
            object_id="1",
            name="cup",
            x=10,
            y=10,
            w=10,
            h=10,
            attributes=("red",),
            relations=(To(name="on", object_id="2"), To(name="to the left of", object_id="3")),
        ),
        SceneObject(object_id="2", name="table", x=5, y=20, w=30, h=30),
        SceneObject(object_id="3", name="dog", x=80, y=60, w=10, h=20),
    ),
)


def kept_or_why(source, new_text="", new_semantic="", edits=(), scenes=(SCENE,), others=(), subset="pt-hard"):
    """Screen one candidate made from a question; "kept", or the reason why not."""
    text, semantic, answer = source
    asked = question(text, semantic, answer)
    candidate = Candidate(
        candidate_id="c1",
        subset=subset,
        picture_id="n1",
        question_id="q1",
        text=new_text or text,
        program=program(new_semantic or semantic) if semantic else (),
        edits=tuple(
            Edit(
                start=text.index(old), end=text.index(old) + len(old), kind=kind, old=old, new=new, step=step
            )
            for kind, old, new, step in edits
        ),
    )
    kept, dropped = screen([candidate], [asked, *others], {s.picture_id: s for s in scenes}, VOCABULARY)
    assert len(kept) + len(dropped) == 1
    return dropped[0].reason if dropped else "kept"


SIZE = ("What size is the red cup?", "select: cup (1)->filter color: red [0]->query: size [1]", "small")
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
        form.GIVES_AWAY,
    ),
    (
        "whether the red cup is red",
        ("Is the large cup red?", "select: cup (1)->filter size: large [0]->verify color: red [1]", "yes"),
        "Is the blue cup red?",
        "select: cup (1)->filter color: blue [0]->verify color: red [1]",
        [("attribute", "large", "blue", 1)],
        form.GIVES_AWAY,
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
        form.GIVES_AWAY,
    ),
    (
        "whether the open door is open",
        ("Is the large door open?", "select: door (1)->filter size: large [0]->verify: open [1]", "yes"),
        "Is the open door open?",
        "select: door (1)->filter: open [0]->verify: open [1]",
        [("attribute", "large", "open", 1)],
        form.GIVES_AWAY,
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
        form.GIVES_AWAY,
    ),
    (
        "what the furniture is called",
        (
            "What is the large vehicle called?",
            "select: vehicle (2)->filter size: large [0]->query: name [1]",
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
        form.GIVES_AWAY,
    ),
    (
        "old and young at once",
        (
            "What is the old man that is tall on?",
            "select: man (1)->filter age: old [0]->filter height: tall [1]->relate: _,on,o (2) [2]->query: name [3]",
            "bed",
        ),
        "What is the old man that is young on?",
        "select: man (1)->filter age: old [0]->filter age: young [1]->relate: _,on,o (2) [2]->query: name [3]",
        [("attribute", "tall", "young", 2)],
        form.CONTRADICTS,
    ),
    (
        "red and not red",
        (
            "What is the red cup that is not blue on?",
            "select: cup (1)->filter color: red [0]->filter color: not(blue) [1]->relate: _,on,o (2) [2]->query: name [3]",
            "bed",
        ),
        "What is the red cup that is not red on?",
        "select: cup (1)->filter color: red [0]->filter color: not(red) [1]->relate: _,on,o (2) [2]->query: name [3]",
        [("attribute", "blue", "red", 2)],
        form.CONTRADICTS,
    ),
    (
        "blue or blue",
        ("Is the cup red or blue?", "select: cup (1)->choose color: red|blue [0]", "red"),
        "Is the cup blue or blue?",
        "select: cup (1)->choose color: blue|blue [0]",
        [("attribute", "red", "blue", 1)],
        form.SAME_CHOICE,
    ),
    (
        "right or right in the words alone",
        (
            "Is the cup to the left or to the right of the large dog?",
            "select: dog (3)->filter size: large [0]->choose rel: cup,to the left of|to the right of,s (1) [1]",
            "left",
        ),
        "Is the cup to the left or to the left of the small dog?",
        "select: dog (3)->filter size: small [0]->choose rel: cup,to the left of|to the right of,s (1) [1]",
        [("attribute", "large", "small", 1)],
        form.SAME_CHOICE,
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
        claims.WITHOUT_EFFECT,
    ),
    (
        "the same text",
        SIZE,
        "What size is the red cup?",
        SIZE[1],
        [("attribute", "red", "red", 1)],
        claims.WITHOUT_EFFECT,
    ),
    (
        "an asserted colour",
        ("Is the dog black?", "select: dog (3)->verify color: black [0]", "yes"),
        "Is the dog blue?",
        "select: dog (3)->verify color: blue [0]",
        [("attribute", "black", "blue", 1)],
        claims.ASSERTED,
    ),
    (
        "a hat that is asked for",
        ("Is the dog wearing a hat?", "select: dog (3)->verify rel: hat,wearing,o (-) [0]", "no"),
        "Is the dog wearing a kite?",
        "select: dog (3)->verify rel: kite,wearing,o (-) [0]",
        [("object", "hat", "kite", 1)],
        claims.ASSERTED,
    ),
    (
        "what there is asked for",
        ("Is there a cow?", "select: cow (-)->exist: ? [0]", "no"),
        "Is there a kite?",
        "select: kite (-)->exist: ? [0]",
        [("object", "cow", "kite", 0)],
        claims.ASSERTED,
    ),
    (
        "the wrong option of a choice",
        ("Is the dog black or blue?", "select: dog (3)->choose color: black|blue [0]", "black"),
        "Is the dog black or red?",
        "select: dog (3)->choose color: black|red [0]",
        [("attribute", "blue", "red", 1)],
        claims.ASSERTED,
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
        "known to hold in the picture",
        (
            "What is the blue cup on?",
            "select: cup (4)->filter color: blue [0]->relate: _,on,o (5) [1]->query: name [2]",
            "bed",
        ),
        "What is the red cup on?",
        "select: cup (4)->filter color: red [0]->relate: _,on,o (5) [1]->query: name [2]",
        [("attribute", "blue", "red", 1)],
        claims.BY_EVIDENCE,
    ),
]


@pytest.mark.parametrize(
    "what, source, text, semantic, edits, expected", CASES, ids=[row[0] for row in CASES]
)
def test_a_candidate_goes_for_the_first_reason_that_holds(what, source, text, semantic, edits, expected):
    assert kept_or_why(source, text, semantic, edits) == expected


def test_a_question_that_has_an_answer_at_every_picture_is_no_candidate():
    place = ("What place is this?", "select: scene->query: place [0]", "park")
    indoors = (
        "Is it indoors or outdoors?",
        "select: scene->choose location: indoors|outdoors [0]",
        "indoors",
    )
    exist = ("Is there a red cow?", "select: cow (-)->filter color: red [0]->exist: ? [1]", "no")
    both = (
        "Are there cows and pigs?",
        "select: cow (-)->exist: ? [0]->select: pig (-)->exist: ? [2]->and: [1, 3]",
        "no",
    )
    for source in (place, indoors, exist, both):
        other = question(
            "Unlike the text of any other?", "select: cup (1)->query: color [0]", "red", question_id="q2"
        )
        moved = Candidate(
            candidate_id="c1",
            subset="clip-easy",
            picture_id="n2",
            question_id="q1",
            text=source[0],
            program=program(source[1]),
        )
        _, dropped = screen([moved], [question(*source), other], {}, VOCABULARY)
        assert [d.reason for d in dropped] == [claims.ALWAYS_ANSWERABLE]
    which = ("Is this a park or a farm?", "select: scene->choose place: park|farm [0]", "park")
    assert kept_or_why(which, scenes=(), subset="clip-easy") == claims.ALREADY_ASKED  # of n1 itself


def test_a_text_already_asked_of_the_picture_goes_whatever_its_capitals_and_blanks():
    other = question(
        "What  size is the BLUE cup ?",
        "select: cup (1)->filter color: blue [0]->query: size [1]",
        "small",
        question_id="q2",
    )
    assert (
        kept_or_why(
            SIZE,
            "What size is the blue cup?",
            "select: cup (1)->filter color: blue [0]->query: size [1]",
            [("attribute", "red", "blue", 1)],
            others=(other,),
        )
        == claims.ALREADY_ASKED
    )


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
    assert [(d.candidate_id, d.reason) for d in dropped] == [("c2", claims.TWIN)]


def test_the_evidence_that_was_used_is_recorded_and_none_is_not_no_conflict():
    blue = "select: cup (1)->filter color: blue [0]->query: size [1]"
    asked = question(*SIZE)
    candidate = Candidate(
        candidate_id="c1",
        subset="pt-hard",
        picture_id="n1",
        question_id="q1",
        text="What size is the blue cup?",
        program=program(blue),
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


TEXTS = [  # questions without a program
    ("What color are the black shoes?", form.GIVES_AWAY),
    ("What is the color of the red cup?", form.GIVES_AWAY),
    ("Which color is the wood table?", None),
    ("What color is the cup near the red dog?", None),
    ("What material is the wood table made of?", form.GIVES_AWAY),
    ("Is the red cup large?", None),
    ("What is the red cup on?", None),
    ("What color is the cup that the black dog holds?", None),
]


@pytest.mark.parametrize("text, reason", TEXTS)
def test_without_a_program_the_words_tell_whether_the_answer_is_given_away(text, reason):
    found = form.text_fault(text, VOCABULARY.attribute_types)
    assert (found[0] if found else None) == reason


SAID_TWICE = [  # text, the option that stands on both sides of "or"
    ("Is it red or red?", "red"),
    ("What fruit is it, an Apple or an apple?", "an apple"),
    ("Is the woman to the right or to the right of the man?", "to the right"),
    ("Is it behind or behind the cat?", "behind"),
    ("Is it in front of or in front of the box?", "in front of"),
    ("Is it in the top or in the top part of the photo?", "in the top"),
    ("Is it red or blue?", None),
    ("Is it to the left or to the right of the man on the right?", None),
    ("Is it in or in front of the box?", None),
    ("Is it on or on top of the box?", None),
    ("Is it red or reddish?", None),
    ("Is it blue or light blue?", None),
    ("Is it light blue or blue?", None),
    ("Is it a car or a car park?", None),
    ("Is the red or the blue cup red?", None),
]


@pytest.mark.parametrize("text, option", SAID_TWICE)
def test_the_words_tell_whether_one_option_is_offered_twice(text, option):
    assert form.choice_said_twice(text) == (option and (form.SAME_CHOICE, f"{option} or {option}"))


def test_without_programs_the_same_text_is_an_edit_without_effect():
    source = ("What is the red cup on?", "", "table")
    assert (
        kept_or_why(source, "What is the red cup on?", "", [("attribute", "red", "red", -1)], scenes=())
        == claims.WITHOUT_EFFECT
    )


def test_without_programs_swapping_both_sides_is_seen_in_the_words():
    source = ("Is the cup to the left or to the right of the dog?", "", "left")
    edits = [("relation", "left", "right", -1)]
    assert (
        kept_or_why(source, "Is the cup to the right or to the left of the dog?", "", edits, scenes=())
        == claims.WITHOUT_EFFECT
    )


def test_what_goes_in_is_kept_or_dropped_for_a_counted_reason():
    asked = [question(row[1][0], row[1][1], row[1][2], question_id=f"q{i:02}") for i, row in enumerate(CASES)]
    candidates = [
        Candidate(
            candidate_id=f"c{i:02}",
            subset="pt-easy" if i % 2 else "pt-hard",
            picture_id="n1",
            question_id=f"q{i:02}",
            text=row[2],
            program=program(row[3]),
            edits=tuple(
                Edit(start=0, end=len(old), kind=kind, old=old, new=new, step=step)
                for kind, old, new, step in row[4]
            ),
        )
        for i, row in enumerate(CASES)
    ]
    kept, dropped = screen(candidates, asked, {"n1": SCENE}, VOCABULARY)
    counts = report(tally([*kept, *dropped]))
    assert sum(row["in"] for row in counts.values()) == len(candidates) == len(kept) + len(dropped)
    for row in counts.values():
        assert row["in"] == row["kept"] + sum(row["dropped"].values())
        assert sum(row["judged"].values()) == sum(row["evidence"].values()) == row["kept"]
    assert {row.candidate.candidate_id for row in kept}.isdisjoint(d.candidate_id for d in dropped)
