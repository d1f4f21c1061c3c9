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
    set_params("vocabulary", min_count=3, use_default="never")
    vocabulary.main()
    assert "pt-easy stays empty" in capsys.readouterr().err


def test_the_minimum_count_follows_from_the_data_and_is_reported(tiny, set_params):
    from pipeline.core.json_files import read_json
    from pipeline.stages import ingest, vocabulary

    ingest.main()
    sizes = tiny / "data/tiny/interim/vocabulary/sizes.json"
    set_params("vocabulary", min_count="auto")
    vocabulary.main()
    report = read_json(sizes)
    # Far fewer than 1,000 graphs.
    assert (report["min_count"], report["auto"]) == (1, ["min_count"])
    assert report["from"]["graphs"] > 0 and report["from"]["questions"] > 0
    first = (tiny / "data/tiny/interim/vocabulary/vocabulary.json").read_bytes()
    set_params("vocabulary", min_count=1)
    vocabulary.main()
    assert read_json(sizes) == {"min_count": 1, "auto": []}
    assert (tiny / "data/tiny/interim/vocabulary/vocabulary.json").read_bytes() == first
