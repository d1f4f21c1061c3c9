from pipeline.words.likeness import similar
from pipeline.words.opposites import _EXCLUDED, excluded


def test_what_excludes_a_look_is_excluded_by_it_unless_it_is_a_doing():
    for look, others in _EXCLUDED.items():
        for other in others:
            assert look in excluded(other) or look.endswith("ing") or other == "light", (look, other)


def test_no_look_excludes_itself_or_what_may_be_said_of_the_same_look():
    alike = [
        (look, other)
        for look, others in _EXCLUDED.items()
        for other in others
        if look == other or similar(look, other)
    ]
    assert [pair for pair in alike if "sleeved" not in pair[0]] == []
