import json


def test_croissant_names_every_table_with_its_sum(release):
    described = {
        row["contentUrl"]: row["sha256"]
        for row in json.loads((release / "croissant.json").read_text())["distribution"]
    }
    sums = {line[66:]: line[:64] for line in (release / "CHECKSUMS.sha256").read_text().splitlines()}
    assert described == {path: digest for path, digest in sums.items() if path.startswith("data/")}


def test_the_columns_are_those_of_the_tables_and_no_lists_or_pictures(release):
    described = json.loads((release / "croissant.json").read_text())
    kinds = {field["name"]: field["dataType"] for field in described["recordSet"][0]["field"]}
    assert (
        kinds["label"] == "sc:Integer"
        and kinds["clip_score"] == "sc:Float"
        and kinds["simulated"] == "sc:Boolean"
    )
    assert kinds["question"] == kinds["canary"] == "sc:Text" and not {"edits", "image"} & kinds.keys()
