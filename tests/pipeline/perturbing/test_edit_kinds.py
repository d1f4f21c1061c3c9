from pipeline.perturbing.edit_kinds import edit
from pipeline.perturbing.replacements import PerturbParams
from tests.notation import question
from tests.pipeline.perturbing.in_memory import case_of, perturb
from tests.pipeline.perturbing.small_vocabulary import vocabulary


def test_of_several_things_those_stay_that_are_too_seldom_put_in():
    # 200 times a man and a kite, and nobody says "vase" or "hat": so the man, the kite, or both have to give way to
    # them. Evened out, only one of them goes; else both do.
    words = vocabulary("man", "kite", "vase", "hat")
    text, semantic = (
        "Is the man near the kite?",
        "select: kite (1)->relate: man,near,s (2) [0]->verify pose: standing [1]",
    )
    asked = [question(text, semantic, "yes", question_id=f"q{i}") for i in range(200)]

    def edits(even_words: bool) -> set[int]:
        candidates, _ = perturb(asked, {text: ()}, words, PerturbParams(even_words=even_words))
        return {len(c.edits) for c in candidates if c.subset == "pt-easy"}

    assert (edits(True), edits(False)) == ({1}, {2})


def test_what_nothing_excludes_is_denied_only_where_there_is_no_other_edit():
    glazed = "select: cup (1)->filter other: glazed [0]->query: material [1]"
    swaps, reason = edit("pt-hard", case_of("What is the cup that is glazed made of?", glazed))
    assert ([swap.new for swap in swaps], reason) == (["not(glazed)"], "")
    both = "select: cup (1)->filter other: glazed [0]->filter color: not(red) [1]->query: material [2]"
    swaps, reason = edit("pt-hard", case_of("What is the cup that is glazed and is not red made of?", both))
    assert ([swap.new for swap in swaps], reason) == (["red"], "")


def test_a_question_that_names_nothing_has_no_edit():
    assert edit("pt-easy", case_of("What place is this?", "select: scene->query: place [0]")) == (
        [],
        "names no object",
    )
