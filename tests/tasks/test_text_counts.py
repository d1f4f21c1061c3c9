from collections import Counter

import numpy as np

from pipeline.tasks.text_counts import TextCounts, hash_text


def test_counts_are_those_of_a_counter():
    drawn = [f"text {n}" for n in np.random.default_rng(0).integers(0, 50, 500)]
    counts, expected = TextCounts(drawn[:100]), Counter(drawn)
    for text in drawn[100:]:
        counts.add(text)
    assert {text: counts[text] for text in [*expected, "none"]} == expected | {"none": 0}


def test_a_number_is_of_64_bits_and_the_same_in_every_process():
    # python -c "import hashlib; print(hashlib.blake2b(b'red', digest_size=8).hexdigest())"
    assert f"{hash_text('red'):016x}" == "0de917af2f0a48a3"
    assert hash_text("red") != hash_text("Red")
