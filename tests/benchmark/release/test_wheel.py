import configparser
import subprocess
import sys
import zipfile

from pipeline.benchmark.release.wheel import build_wheel


def test_the_same_sources_give_the_same_wheel(tmp_path):
    first, second = build_wheel(tmp_path / "a", "1.2.0"), build_wheel(tmp_path / "b", "1.2.0")
    assert first.name == "rgqa_scorers-1.2.0-py3-none-any.whl" and first.read_bytes() == second.read_bytes()


def test_the_wheel_works_alone_with_numpy(tmp_path):
    # Importing the scorers must load only numpy, and nothing of this project.
    wheel = build_wheel(tmp_path, "1.2.0")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        names = archive.namelist()
    record = (tmp_path / "site" / "rgqa_scorers-1.2.0.dist-info" / "RECORD").read_text().splitlines()
    assert sorted(line.split(",")[0] for line in record) == sorted(names)
    code = (
        "import sys, rgqa_scorers.scoring.cli, rgqa_scorers.inference.confidence_methods; from rgqa_scorers import *;"
        "heavy = {'torch', 'pandas', 'scipy', 'sklearn', 'msgspec', 'pyarrow', 'spacy', 'PIL', 'inspect_ai', 'pipeline'} & set(sys.modules);"
        "print(sorted(heavy), auaf([0.9, 0.1], [1, 0], [True, False]), rgqa_scorers.scoring.cli_options.VERSION)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "site", capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["[]", "1.0", "1.2.0"]


def test_every_entry_point_is_a_module_of_the_wheel(tmp_path):
    with zipfile.ZipFile(build_wheel(tmp_path, "1.2.0")) as archive:
        names = set(archive.namelist())
        points = configparser.ConfigParser()
        points.read_string(archive.read("rgqa_scorers-1.2.0.dist-info/entry_points.txt").decode())
    modules = [value.split(":")[0] for group in points.sections() for value in points[group].values()]
    assert len(modules) >= 2
    assert {module.replace(".", "/") + ".py" for module in modules} <= names
