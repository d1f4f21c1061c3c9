import pytest

from pipeline.core.errors import UserError
from pipeline.releasing.publish import publish


def test_publishing_the_same_bytes_again_does_nothing_and_files_are_read_only(release, tmp_path):
    assert publish(release, tmp_path).startswith("published -> ")
    assert publish(release, tmp_path).startswith("already published")
    files = [path for path in (tmp_path / "tiny/0.1.0").rglob("*") if path.is_file()]
    assert files and all(path.stat().st_mode & 0o777 == 0o444 for path in files)


def test_a_published_version_never_changes(release, tmp_path):
    place = tmp_path / "tiny/0.1.0"
    place.mkdir(parents=True)
    (place / "CHECKSUMS.sha256").write_text("other bytes\n")
    with pytest.raises(UserError, match="published with different bytes"):
        publish(release, tmp_path)
