import re

from pipeline.scoring.version import VERSION


def test_the_version_is_one_that_can_be_compared():
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z]+\.\d+)?", VERSION)
