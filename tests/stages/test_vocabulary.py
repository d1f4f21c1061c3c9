from __future__ import annotations


def test_without_graphs_and_programs_nothing_is_known_of_names(tiny, set_params, capsys):
    from pipeline.core.json_files import write_jsonl
    from pipeline.core.records import ImageRecord, Question, SceneGraph
    from pipeline.stages import vocabulary

    ingest = tiny / "data/tiny/interim/ingest"
    bare = Question(question_id="1", image_id="n1", split="testdev", text="What is this?", answer="a cup")
    write_jsonl(ingest / "questions.jsonl", [bare])
    write_jsonl(ingest / "scenes.jsonl", list[SceneGraph]())
    write_jsonl(ingest / "images.jsonl", list[ImageRecord]())
    write_jsonl(ingest / "unbalanced.jsonl", list[Question]())
    set_params("vocabulary", min_count=3)
    vocabulary.main()
    assert "pt-easy stays empty" in capsys.readouterr().err
