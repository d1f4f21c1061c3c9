import numpy as np
import pytest

from pipeline.auditing.resolution import smallest_auaf_difference
from pipeline.core.randomness import generator


def test_four_times_the_pictures_resolve_half_the_difference():
    # A standard error falls with the square root of the sample.
    def found(pictures):
        return np.mean(
            [
                smallest_auaf_difference(
                    np.arange(pictures * 4) % 2 == 0, np.arange(pictures * 4) // 4, 200, generator(0, str(i))
                )
                for i in range(3)
            ]
        )

    assert found(50) / found(200) == pytest.approx(2.0, rel=0.25)
