from pipeline.sources.fetching.dry_run import tell, tell_whole
from pipeline.sources.fetching.wanted_files import WantedFile

QUESTIONS = WantedFile("questions1.2/val_balanced_questions.json", "questions1.2.zip", 1500, 9000, None)
ON_HUB = WantedFile(
    "questions1.2/val_balanced_questions.json", "val_balanced_instructions", 1500, 18_000, None
)
PICTURES = [WantedFile(f"images/{at}.jpg", "images.zip", 50_000, 60_000, None) for at in range(3)]


def said(*arguments):
    lines = []
    tell(*arguments, lines.append)
    return lines


def test_each_file_is_told_with_what_is_received_and_what_lies_on_the_disk():
    assert said([QUESTIONS], PICTURES[:2], ["0", "1", "2"], "val", 0) == [
        "  questions1.2/val_balanced_questions.json: 1.5 kB from questions1.2.zip, 9.0 kB on disk",
        "  images/: pictures 2 of 3, 100.0 kB from images.zip",
        "fetch: nothing done (dry run); to receive: 101.5 kB; on disk: 129.0 kB",
    ]


def test_the_size_of_what_is_made_from_parquet_is_an_estimate():
    assert said([ON_HUB], [], ["0"], "val", 0)[0].endswith("about 18.0 kB on disk")


def test_pictures_that_nobody_knows_yet_are_estimated_where_their_number_is_known():
    # testdev has 398 pictures; 398 x 50,000 bytes = 19.9 MB
    assert said([QUESTIONS], [], None, "testdev", 50_000)[1].startswith(
        "  images/: 398 pictures, about 19.9 MB from"
    )
    assert said([QUESTIONS], [], None, "val", 50_000)[1].startswith(
        "  images/: pictures from images.zip (50.0 kB each"
    )
    assert said([QUESTIONS], [], None, "val", 50_000)[-1].count("and the pictures") == 2


def test_nothing_missing_is_told():
    assert said([], [], ["0"], "val", 0)[0] == "  everything is there"


def test_whole_archives_are_told_by_the_sizes_that_their_authors_state():
    lines = []
    tell_whole(["sceneGraphs.zip"], True, lines.append)
    assert lines == [
        "  sceneGraphs.zip: all of it, 42.7 MB as its authors state",
        "  eval.zip: all of it, 784 MB as its authors state",
    ]
