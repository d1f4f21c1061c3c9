import pytest

from pipeline.core.errors import UserError
from pipeline.sources.fetching.addresses import checked, is_web


@pytest.mark.parametrize(
    ("address", "web"),
    [
        ("https://x/y", True),
        ("http://127.0.0.1:80", True),
        ("ftp://x", False),
        ("/data/gqa", False),
        ("", False),
    ],
)
def test_a_web_address_begins_with_http(address, web):
    assert is_web(address) is web


def test_an_address_is_of_the_web_or_a_folder_that_is_there(tmp_path):
    assert checked("https://x/gqa/") == "https://x/gqa"
    assert checked(str(tmp_path)) == str(tmp_path)
    with pytest.raises(
        UserError, match="neither `official`, `hub`, a web address .* nor a folder that is there"
    ):
        checked(str(tmp_path / "not there"))
