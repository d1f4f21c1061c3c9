"""What a wording reads: the shortest phrase that leaves the rest to be read, and options only as the program has them."""

from pipeline.language.paraphrase_patterns import compile_template


def read(wording, text, options=(), whole=True):
    pattern = compile_template(wording, options, whole)
    match = pattern.fullmatch(text) if whole else pattern.search(text)
    return match and {name: found for name, found in match.groupdict().items() if found}


def test_a_phrase_ends_where_the_longest_doing_begins():
    wording = "What {be} {who} {doing}?"
    assert read(wording, "What is the judge sitting on?") == {
        "be": "is",
        "who": "the judge",
        "doing": "sitting on",
    }
    assert read(wording, "What is the judge on the bench reading?") == {
        "be": "is",
        "who": "the judge on the bench",
        "doing": "reading",
    }
    assert read(wording, "What is she reading?")["who"] == "she"
    assert read(wording, "What is a judge reading?") is None


def test_what_follows_a_comma_is_read_apart():
    found = read("What color {be} {the}?", "What color are the lamps, red or blue?")
    assert found == {"be": "are", "the": "the lamps", "tail": ", red or blue"}


def test_options_are_those_of_the_program_in_either_order():
    wording = "{be} {the} {look}?"
    found = read(wording, "Is the lamp blue or dark red?", ("dark red", "blue"))
    assert found == {"be": "Is", "the": "the lamp", "look": "blue or dark red"}
    assert read(wording, "Is the lamp red?", ("red",))["look"] == "red"
    assert compile_template(wording, (), True) is None
    assert compile_template("{one} or {two}?", ("red",), False) is None


def test_within_a_text_whole_words_are_read():
    assert read("or is it", "Is it red or is it blue?", whole=False) == {}
    assert read("What is", "What isn't blue?", whole=False) is None
    assert read(", {x} or {y}?", "What is it, a saw or a file?", whole=False) == {"x": "a saw", "y": "a file"}
