import subprocess
from pathlib import Path

import libcst as cst
import pytest

from tests import closure, mutant_runs, mutants
from tests.mutant_runs import outcomes
from tests.mutants import Changes, drawn

pytestmark = pytest.mark.endurance


def changed(text: str) -> set[str]:
    """Return all changes of a line of code."""
    module = cst.parse_module(text)
    module.visit(changes := Changes())
    return {
        cst.ensure_type(module.deep_replace(node, other), cst.Module).code.strip()
        for node, other in changes.found
    }


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a + 1", {"x = a - 1", "x = a + 2"}),
        ("any(rows)", {"all(rows)", "pass"}),
        ("copy.chmod(0o444)", {"pass", "copy.chmod(293)"}),
        ("x = f(a, key=b)", {"x = f(a, )"}),
        ('x: Literal["a"] = T', set()),
        ("x = a if b else c", {"x = a if (b) and False else c", "x = a if (b) or True else c"}),
    ],
)
def test_mutants_of_a_line(line, faults):
    assert changed(line) == faults


def test_the_sample_of_mutants_is_reproducible_and_nested():
    module = Path("pipeline/candidates/perturbing/raking.py")
    ten = drawn([module], 10)
    assert [mutant.place for mutant in drawn([module], 4)] == [mutant.place for mutant in ten[:4]]
    assert len({mutant.place for mutant in ten}) == 10
    for mutant in ten:
        before, after = (mutants.ROOT / module).read_text().splitlines(), mutant.text.splitlines()
        differ = [n for n, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new]
        assert differ == [mutant.line]


@pytest.fixture
def one(tmp_path, monkeypatch):
    """A project of one module, f(x) = x + 0, with a test f(1) == 1."""
    module, test = tmp_path / "pipeline/core/one.py", tmp_path / "tests/core/test_one.py"
    for path, text in {
        module: "def f(x):\n    return x + 0\n",
        test: "from pipeline.core.one import f\n\n\ndef test_one():\n    assert f(1) == 1\n",
        tmp_path / "pipeline/__init__.py": "",
        tmp_path / "pipeline/core/__init__.py": "",
        tmp_path / "pyproject.toml": "",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    for where in (closure, mutants, mutant_runs):
        monkeypatch.setattr(where, "ROOT", tmp_path)
    monkeypatch.setattr(mutant_runs, "LIBRARIES", ())
    monkeypatch.setattr(mutant_runs, "PACKAGES", ("pipeline",))
    return module


def test_a_detected_mutant_is_killed_and_an_undetectable_one_survives(one):
    # 1 - 0 is also 1, but 1 + 1 is not.
    found = mutants.mutants(Path("pipeline/core/one.py"))
    said = {mutant.became: (said, by) for mutant, said, by in outcomes(list(found), 1)}
    assert said == {
        "return x - 0": ("survived", ""),
        "return x + 1": ("killed", "tests/core/test_one.py::test_one"),
    }
    # Mutants are written only in a copy.
    assert one.read_text() == "def f(x):\n    return x + 0\n"


def test_a_module_whose_tests_fail_unchanged_is_untested(one):
    one.write_text("def f(x):\n    return x + 5\n")
    mutant = next(mutants.mutants(Path("pipeline/core/one.py")))
    ((_, said, why),) = outcomes([mutant], 1)
    assert said == "untested" and why.startswith("tests/core/test_one.py failed without a mutant")
