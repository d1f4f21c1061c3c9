from collections import Counter

import pytest

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.rank_params import assign_splits
from pipeline.core.records import Candidate, SourceQuestionScore
from pipeline.stages import rank
from tests.candidates.ranking.small_world import world
from tests.stages.small_projects import lay_out_rank_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder in which rank can run."""
    monkeypatch.chdir(tmp_path)
    return lay_out_rank_project(tmp_path)


def test_the_files_say_the_same_as_the_functions_and_are_the_same_bytes_each_time(project, monkeypatch):
    rank.main()
    questions, vectors = world()
    first = {path.name: path.read_bytes() for path in (project / "rank").iterdir()}
    assert first.keys() == {"candidates.jsonl", "source_scores.jsonl", "splits.json", "rank.json"}
    candidates = list(read_jsonl(project / "rank/candidates.jsonl", Candidate))
    assert [c.candidate_id for c in candidates] == sorted(c.candidate_id for c in candidates)
    program_of = {q.question_id: q.program for q in questions}
    assert all(c.program == program_of[c.question_id] and c.program for c in candidates)
    assert candidates[0].candidate_id == f"clipeasy_{candidates[0].image_id}+{candidates[0].question_id}"
    assert len(list(read_jsonl(project / "rank/source_scores.jsonl", SourceQuestionScore))) == len(
        questions
    )  # the train question is none of ours
    assert read_json(project / "rank/splits.json") == assign_splits(vectors.image_ids, 0.4, 0)
    assert read_json(project / "rank/rank.json")["splits"] == Counter(
        assign_splits(vectors.image_ids, 0.4, 0).values()
    )
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    rank.main()
    assert {path.name: path.read_bytes() for path in (project / "rank").iterdir()} == first


def test_no_limit_of_uses_is_said_to_be_the_rule_of_the_paper(project, capsys):
    path = project.parents[2] / "params.yaml"
    path.write_text(
        "dataset: d\nd:\n  rank: {max_question_uses: 0, hard_draw: 4, hard_pool: 25, easy_last: 3, easy_pool: 25}\n"
    )
    rank.main()
    assert "max_question_uses is 0, so pairs are selected as by `preset: paper`" in capsys.readouterr().err
    path.write_text(path.read_text().replace("max_question_uses", "preset: paper, max_question_uses"))
    rank.main()
    assert "preset" not in capsys.readouterr().err


def test_a_selection_larger_than_its_pool_is_refused(project):
    (project.parents[2] / "params.yaml").write_text(
        "dataset: d\nd:\n  rank: {hard_draw: 40, hard_pool: 25, easy_last: 30, easy_pool: 25}\n"
    )
    with pytest.raises(UserError) as caught:
        rank.main()
    assert [line.split(":")[0] for line in caught.value.problems[1:]] == ["hard_draw", "easy_last"]
