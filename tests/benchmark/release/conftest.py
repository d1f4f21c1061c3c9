import pytest

from pipeline.core.records import Item


@pytest.fixture
def items():
    """Four pairs over two images, with two UQs and two AQs per image. "yes" answers one AQ of four."""
    rows = []
    for i, (text, answer) in enumerate(
        [("Is it red?", "yes"), ("What is it?", "cup"), ("Who sits?", "man"), ("Is it a dog?", "no")]
    ):
        home, away = ("a", "b") if i % 2 else ("b", "a")
        common = {"subset": "clip-hard", "question_id": f"0{i}", "text": text, "pair_id": f"0{i}"}
        rows.append(
            Item(
                item_id=f"0{i}",
                image_id=home,
                unanswerable=False,
                answer=answer,
                split="validation",
                score=0.5,
                **common,
            )
        )
        rows.append(
            Item(
                item_id=f"cliphard_{away}+0{i}",
                image_id=away,
                unanswerable=True,
                answer="",
                split="test",
                score=0.25,
                rank=3,
                simulated=True,
                **common,
            )
        )
    return rows


@pytest.fixture
def release(tiny_run, monkeypatch):
    monkeypatch.chdir(tiny_run)
    return tiny_run / "data/release/tiny/0.1.0"
