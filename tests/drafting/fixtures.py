"""Recorded replies of a strong vision model for the photographs of data/photos, in the form that `rgqa draft` asks for."""

import json
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded_replies.jsonl"


def read_recorded():
    """Return image id -> (size, reply). The boxes of the recording are pixels: left, top, width, height."""
    replies = {}
    for line in RECORDED.read_text().splitlines():
        row = json.loads(line)
        width, height = row.pop("width"), row.pop("height")
        for thing in row["objects"]:
            x, y, w, h = thing["box"]
            corners = (x / width, y / height, (x + w) / width, (y + h) / height)
            thing["box"] = [round(1000 * edge) for edge in corners]
            thing["sure"] = True
        for question in row["questions"]:
            question["objects"] = question.pop("about")
        replies[Path(row.pop("image")).stem] = (width, height), json.dumps(row)
    return replies
