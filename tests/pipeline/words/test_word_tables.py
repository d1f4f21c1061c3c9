from pipeline.words.word_tables import groups, heads, words


def test_a_word_may_be_parted_by_a_line_s_end():
    assert words("\ncup, side\ntable,\nlamp\n") == {"cup", "side table", "lamp"}


def test_groups_end_with_a_line_or_a_semicolon():
    assert groups("\na, b; c\nd\n;\n") == [["a", "b"], ["c"], ["d"]]


def test_heads_stand_before_a_colon():
    assert heads("\non: under, behind; off: on\n") == {"on": ("under", "behind"), "off": ("on",)}
    assert heads("") == {}
