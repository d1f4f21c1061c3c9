from pipeline.candidates.perturbing.replacements import PerturbParams
from tests.candidates.perturbing.in_memory import perturb
from tests.candidates.perturbing.small_vocabulary import made, vocabulary
from tests.notation import question, scene


def test_edits_are_spans_of_the_source_text_and_agreement_is_not_among_them():
    row = made(
        "pt-easy", "What color is the cup?", "select: cup (1)->query: color [0]", vocabulary("scissors")
    )
    assert row.text == "What color are the scissors?"
    assert [(e.start, e.end, e.old, e.new) for e in row.edits] == [(18, 21, "cup", "scissors")]


def test_the_same_seed_gives_the_same_edits_whatever_else_is_asked_and_another_seed_gives_others():
    words = vocabulary("kite", "vase", "ball", "drum", "igloo", "lemon")
    asked = [
        question("What color is the cup?", "select: cup (1)->query: color [0]", "red", question_id=f"q{i}")
        for i in range(30)
    ]
    tags = {asked[0].text: ()}

    def texts(questions, seed=1):
        return [c.text for c in perturb(questions, tags, words, PerturbParams(seed=seed))[0]]

    assert texts(asked) == texts(asked[::-1])
    assert texts(asked[:5]) == [
        c.text
        for c in perturb(asked, tags, words, PerturbParams())[0]
        if c.question_id in {q.question_id for q in asked[:5]}
    ]
    assert texts(asked) != texts(asked, seed=2)


def test_what_a_scene_graph_lists_is_not_put_in():
    words, semantic = vocabulary("kite", "vase", "drum"), "select: cup (1)->query: color [0]"
    asked = [question("What color is the cup?", semantic, "red", question_id=f"q{i}") for i in range(20)]
    listed = {"n1": scene("cup 1", "vase 2", "drum 3", complete=False)}

    def put_in(scenes):
        found, _ = perturb(
            asked, {asked[0].text: ()}, words, PerturbParams(), anything_fits=True, scenes=scenes
        )
        return {edit.new for row in found for edit in row.edits}

    assert put_in({}) == {"kite", "vase", "drum"} and put_in(listed) == {"kite"}
