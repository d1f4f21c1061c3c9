from annotation.client.push import push_tasks
from annotation.study.roster import read_roster
from pipeline.core.json_files import read_json
from pipeline.core.paths import DatasetFolders


def test_volunteers_are_added_to_the_roster(own, capsys):
    row = {"email": "zoe@volunteer.rgqa.local", "name": "Zoe"}
    own.report["tiny"]["annotators"] = [row, {"email": "ann@example.org", "name": ""}]
    push_tasks()
    push_tasks()
    assert [(p.name, p.pseudonym) for p in read_roster(DatasetFolders())][3:] == [("Zoe", "annotator-04")]
    content = read_json(DatasetFolders().study / "queue.json")
    assert content["annotators"]["zoe@volunteer.rgqa.local"] == "annotator-04"
    assert capsys.readouterr().out.count("1 volunteer signed up through the open link: Zoe") == 1
