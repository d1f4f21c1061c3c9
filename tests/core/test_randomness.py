from pipeline.core.randomness import make_generator


def test_random_numbers_depend_on_seed_and_key_but_not_on_the_order():
    first = {key: make_generator(1, "rank", key).integers(1 << 30) for key in "abc"}
    second = {key: make_generator(1, "rank", key).integers(1 << 30) for key in "cba"}
    assert first == second
    assert len({*first.values(), *(make_generator(2, "rank", key).integers(1 << 30) for key in "abc")}) == 6
