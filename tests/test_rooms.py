"""The architecture: which package may import which. It is written here, and docs/architecture.md shows it as a table."""

import re
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

from pipeline.releasing.wheel import CORE_MODULES
from tests.closure import PACKAGES, ROOT, imports, modules

# Each package with the packages that it may import, besides itself and `pipeline/core`. All packages may import `pipeline/core`;
# the scorers may import only those of its modules that their wheel contains.
ROOMS: dict[str, str] = {
    "pipeline/core": "",
    "pipeline/words": "",
    "pipeline/programs": "words",
    "pipeline/judge": "words programs",
    "pipeline/counting": "words programs judge",
    "pipeline/sources": "",
    "pipeline/paraphrasing": "words programs",
    "pipeline/encoders": "",
    "pipeline/scorers": "",
    "pipeline/models": "words encoders scorers",
    "pipeline/baselines": "models scorers sources",
    "pipeline/seeing": "models scorers",
    "pipeline/balancing": "",
    "pipeline/ranking": "balancing programs",
    "pipeline/perturbing": "words programs judge counting",
    "pipeline/screening": "words programs judge",
    "pipeline/estimating": "words programs judge counting",
    "pipeline/batching": "words programs judge",
    "pipeline/collecting": "judge counting sources scorers annotation/study simulation",
    "pipeline/auditing": "words programs judge counting sources scorers screening simulation",
    "pipeline/labelled_sets": "auditing balancing scorers",
    "pipeline/releasing": "auditing scorers annotation/study",
    "pipeline/leaderboard": "scorers",
    "pipeline/reporting": (
        "words programs judge sources encoders auditing releasing scorers seeing annotation/study"
    ),
    "pipeline/stages": (
        "words counting sources paraphrasing encoders models balancing ranking perturbing screening estimating"
        " batching collecting"
        " auditing releasing leaderboard scorers annotation/study simulation"
    ),
    "pipeline/commands": "words judge auditing labelled_sets releasing leaderboard reporting scorers seeing annotation/study",
    "annotation/study": "scorers",
    "annotation/client": "annotation/study",
    "annotation/server": "annotation/study annotation/client",
    "simulation": "",
    "sample_world": "words programs judge sources encoders models auditing releasing scorers simulation",
    "studies": (
        "words programs judge counting sources models balancing perturbing screening auditing scorers seeing leaderboard"
        " ranking annotation/study simulation sample_world"
    ),
}
# Modules with the commands. They may import every package, inside of functions.
DOORS = ("pipeline/*cli.py", "annotation/annotate_cli.py")


def room_of(path: Path) -> str:
    depth = 2 if path.parts[0] in ("pipeline", "annotation") else 1
    return "/".join(path.parts[:depth])


FILES = [path for package in PACKAGES for path in modules(Path(package))]
ROOMED = [path for path in FILES if room_of(path) in ROOMS]


def allowed(room: str) -> set[str]:
    rooms = {name if name.split("/")[0] in PACKAGES else f"pipeline/{name}" for name in ROOMS[room].split()}
    return rooms | {room, "pipeline/core"}


def test_every_package_imports_the_listed_packages_and_nothing_else():
    imported = defaultdict(set)
    for path in ROOMED:
        imported[room_of(path)] |= {room_of(other) for other in imports(path) if other.suffix == ".py"}
    for room in ROOMS:
        rooms = {name for name in imported[room] if not name.endswith("__init__.py")} - {room}
        core = {"pipeline/core"}  # a package need not import it
        assert rooms | core == allowed(room) - {room} | core, room


def test_the_scorers_import_only_the_core_modules_in_their_wheel():
    carried = {Path(f"pipeline/core/{name}.py") for name in CORE_MODULES}
    for path in [path for path in ROOMED if room_of(path) == "pipeline/scorers"]:
        assert {other for other in imports(path) if room_of(other) == "pipeline/core"} <= carried, path
    for path in carried:
        assert imports(path) <= carried | {path}


def test_no_package_imports_tests_or_benchmarks_or_a_module_by_its_name():
    for path in FILES:
        text = (ROOT / path).read_text()
        assert not re.search(r"^\s*(from|import) (tests|benchmarks)\b", text, re.MULTILINE), path
        assert not re.search(r"import_module\(|__import__\(", text) or path.name == "tagger.py", path


def test_packages_import_each_other_without_cycles():
    TopologicalSorter({room: allowed(room) - {room} for room in ROOMS}).prepare()


def test_files_import_each_other_without_cycles():
    TopologicalSorter({path: imports(path) - {path} for path in ROOMED}).prepare()


def test_no_stage_imports_a_stage():
    for path in (ROOT / "pipeline/stages").glob("*.py"):
        stage = path.relative_to(ROOT)
        assert [other for other in imports(stage) if other.parent == stage.parent and other != stage] == []
