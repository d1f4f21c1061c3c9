import importlib.util
from pathlib import Path

import yaml

from pipeline.benchmark.release.lmms_eval_tasks import write_lmms_eval_tasks


class Loader(yaml.SafeLoader):
    """Load a task like lmms-eval: `!function module.name` names a function of a module in the same folder, or of Python."""


Loader.add_constructor("!function", lambda loader, node: node.value)


def task(folder, name):
    settings = yaml.load((folder / f"{name}.yaml").read_text(), Loader)
    return yaml.load((folder / settings.pop("include")).read_text(), Loader) | settings


def test_the_tasks_refer_to_existing_tables_and_functions(release):
    folder = release / "harness/lmms_eval"
    spec = importlib.util.spec_from_file_location("rgqa_tasks", folder / "rgqa_tasks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    subsets = sorted(path.stem for path in (release / "rgqa").glob("*.json"))
    names = {path.stem for path in folder.glob("*.yaml")}
    assert names == {"rgqa", "rgqa_validation", *(f"rgqa_{subset.replace('-', '_')}" for subset in subsets)}
    for name in names:
        settings = task(folder, name)
        split = settings["test_split"]
        assert settings["task"] == name and split == ("validation" if name == "rgqa_validation" else "test")
        tables = [(folder / table).resolve() for table in settings["dataset_kwargs"]["data_files"][split]]
        expected = (
            subsets if name in ("rgqa", "rgqa_validation") else [name.removeprefix("rgqa_").replace("_", "-")]
        )
        assert tables == [(release / f"data/{subset}-{split}.parquet").resolve() for subset in expected]
        assert all(table.is_file() for table in tables)
        functions = [value for value in settings.values() if str(value).startswith("rgqa_tasks.")]
        assert len(functions) == 5 and all(hasattr(module, value.split(".")[1]) for value in functions)
        assert settings["generation_kwargs"]["max_new_tokens"] == module.MAX_NEW_TOKENS
        assert settings["metadata"]["version"] == "0.1.0" and settings["output_type"] == "generate_until"
    sums = (release / "CHECKSUMS.sha256").read_text()
    assert all(
        f"  harness/lmms_eval/{name}" in sums for name in ("rgqa.yaml", "rgqa_common", "rgqa_tasks.py")
    )
    assert "`harness/`" in (release / "README.md").read_text()


def test_a_split_without_tables_has_no_task(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/pt-hard-test.parquet").touch()
    assert write_lmms_eval_tasks(tmp_path, "1.0.0") == ["rgqa", "rgqa_pt_hard"]
    assert not Path(tmp_path / "harness/lmms_eval/rgqa_validation.yaml").exists()
