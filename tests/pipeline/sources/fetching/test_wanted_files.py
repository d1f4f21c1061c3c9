import inspect

import pytest

from pipeline.sources.fetching.hub_copy import Hub
from pipeline.sources.fetching.official_archives import Official
from pipeline.sources.fetching.wanted_files import Door


@pytest.mark.parametrize("kind", [Official, Hub])
@pytest.mark.parametrize("name", [name for name in vars(Door) if not name.startswith("_")])
def test_every_door_takes_what_a_door_is_given(kind, name):
    asked, taken = (list(inspect.signature(getattr(each, name)).parameters) for each in (Door, kind))
    assert taken == asked
