"""Some hundred mutated inputs. `make endurance` tries 20,000 (tests/mutations.py)."""

import pytest

from tests.mutations import Case, attempt, cases, mutated, tries

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_each_valid_input_is_read(case: Case, tmp_path):
    path = tmp_path / case.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case.data)
    case.read(path)


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_input_is_read_or_reported(seed):
    tries(100, 1_000_000 + seed)


def test_mutations_match_their_names():
    assert mutated(b"abcdef", [("cut", 0.3, 2, None)]) == b"abef"
    assert mutated(b"abcdef", [("end", 0.5, 1, None)]) == b"abc"
    assert mutated(b"abc", [("double", 0.3, 1, None)]) == b"abbc"
    assert mutated(b"abc", [("flip", 0.0, 0, None)]) == b"`bc"
    assert mutated(b'{"a": 1}', [("value", 0.0, 1, None)]) == b'{"a": null}'
    assert mutated(b'{"a": 1}', [("value", 0.0, 1, "x")]) == b'{"x": 1}'


def test_a_traceback_is_detected(monkeypatch):
    def fail(*_: object) -> None:
        raise KeyError("x")

    spoiling = [case._replace(read=fail) for case in cases()]
    monkeypatch.setattr("tests.mutations.cases", lambda: spoiling)
    with pytest.raises(KeyError):
        attempt(0, [("cut", 0.0, 1, None)])
