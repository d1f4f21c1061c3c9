"""Write the tiny world for tests: 8 testdev images, 6 train and 3 val scene graphs, with questions.

Objects with boxes, attributes and support relations, and questions with answers and programs are written by hand below. Only relations
that follow from the boxes (left, right, above, below, near) are computed. The files have the layout of GQA. Run it after an edit, from
the root of the project: `python tests/tiny/make.py`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from PIL import Image, ImageDraw

HOME = Path(__file__).parent
SIZE = WIDTH, HEIGHT = 448, 336
PAINT = {
    "red": "#d7322f",
    "orange": "#f08a24",
    "yellow": "#f4cf3a",
    "green": "#3f9b4b",
    "blue": "#2f6fd0",
    "purple": "#8a4fb5",
    "pink": "#f191b5",
    "brown": "#8a5a33",
    "black": "#2b2b2e",
    "white": "#f6f5f0",
    "gray": "#9a9ea3",
}

# image: (split, place, weather, objects). An object: id, name, (x, y, w, h), attributes, relations by hand.
# Objects stand on the floor unless a relation says what bears, contains, holds or wears them; "wall" and "sky"
# in the last column keep an object from being next to others.
SCENES = {
    "n100001": (
        "testdev",
        "kitchen",
        "",
        [
            ("1", "table", (100, 200, 160, 90), "red wood", "", ""),
            ("2", "cup", (130, 172, 30, 28), "blue plastic", "on 1", ""),
            ("3", "apple", (200, 176, 24, 24), "green", "on 1", ""),
            ("4", "chair", (330, 200, 60, 95), "brown wood", "", ""),
            ("5", "window", (320, 40, 84, 84), "white closed", "", "wall"),
        ],
    ),
    "n100002": (
        "testdev",
        "living room",
        "",
        [
            ("1", "couch", (30, 190, 180, 90), "green striped", "", ""),
            ("2", "cat", (90, 158, 60, 40), "black lying", "on 1", ""),
            ("3", "table", (280, 200, 120, 80), "brown wood", "", ""),
            ("4", "lamp", (310, 138, 44, 62), "yellow on", "on 3", ""),
            ("5", "painting", (80, 40, 80, 60), "brown wood", "", "wall"),
        ],
    ),
    "n100003": (
        "testdev",
        "park",
        "sunny",
        [
            ("1", "man", (120, 130, 60, 140), "old standing", "wearing 2", ""),
            ("2", "hat", (130, 122, 40, 22), "red", "", "worn"),
            ("3", "dog", (235, 215, 75, 60), "white sitting", "", ""),
            ("4", "bench", (318, 205, 120, 62), "green metal", "", ""),
            ("5", "ball", (195, 245, 28, 28), "yellow small", "", ""),
            ("6", "tree", (5, 70, 90, 190), "", "", ""),
        ],
    ),
    "n100004": (
        "testdev",
        "street",
        "rainy",
        [
            ("1", "car", (30, 190, 150, 72), "blue", "", ""),
            ("2", "bus", (255, 160, 185, 110), "yellow large", "", ""),
            ("3", "woman", (195, 150, 50, 124), "young standing", "holding 4", ""),
            ("4", "umbrella", (180, 80, 80, 70), "red open", "", "held"),
            ("5", "fire hydrant", (5, 230, 24, 50), "red", "", ""),
        ],
    ),
    "n100005": (
        "testdev",
        "beach",
        "cloudy",
        [
            ("1", "boy", (70, 180, 50, 95), "standing", "holding 2", ""),
            ("2", "ball", (116, 220, 34, 34), "orange", "", "held"),
            ("3", "girl", (200, 185, 48, 92), "standing", "wearing 4", ""),
            ("4", "hat", (204, 176, 40, 20), "blue", "", "worn"),
            ("5", "boat", (300, 180, 130, 85), "white wood", "", ""),
            ("6", "kite", (210, 20, 60, 66), "pink dotted", "", "sky"),
        ],
    ),
    "n100006": (
        "testdev",
        "farm",
        "sunny",
        [
            ("1", "horse", (30, 170, 118, 100), "brown standing", "", ""),
            ("2", "sheep", (170, 215, 70, 55), "white lying", "", ""),
            ("3", "sheep", (250, 215, 70, 55), "black standing", "", ""),
            ("4", "tractor", (330, 180, 112, 90), "red", "", ""),
        ],
    ),
    "n100007": (
        "testdev",
        "office",
        "",
        [
            ("1", "table", (40, 200, 150, 85), "white plastic", "", ""),
            ("2", "laptop", (60, 162, 56, 38), "gray open", "on 1", ""),
            ("3", "book", (130, 176, 38, 24), "red closed", "on 1", ""),
            ("4", "chair", (210, 205, 56, 86), "black metal", "", ""),
            ("5", "shelf", (300, 150, 110, 135), "brown wood", "", ""),
            ("6", "bottle", (345, 98, 20, 52), "green glass empty", "on 5", ""),
            ("7", "clock", (120, 60, 40, 40), "white", "", "wall"),
        ],
    ),
    "n100008": (
        "testdev",
        "bedroom",
        "",
        [
            ("1", "bed", (30, 200, 170, 85), "purple striped", "", ""),
            ("2", "teddy bear", (80, 150, 42, 52), "brown", "on 1", ""),
            ("3", "box", (250, 235, 58, 50), "yellow plastic closed", "", ""),
            ("4", "box", (330, 235, 58, 50), "blue wood open", "", ""),
            ("5", "curtain", (370, 60, 60, 110), "blue", "", "wall"),
        ],
    ),
    "2300001": (
        "train",
        "kitchen",
        "",
        [
            ("11", "table", (60, 200, 150, 90), "white plastic", "", ""),
            ("12", "cup", (90, 172, 30, 28), "red", "on 11", ""),
            ("13", "banana", (150, 178, 34, 22), "yellow", "on 11", ""),
            ("14", "chair", (250, 200, 60, 95), "red metal", "", ""),
        ],
    ),
    "2300002": (
        "train",
        "living room",
        "",
        [
            ("21", "couch", (40, 190, 170, 90), "blue striped", "", ""),
            ("22", "dog", (80, 150, 78, 50), "brown lying", "on 21", ""),
            ("23", "lamp", (300, 138, 40, 62), "white off", "on 24", ""),
            ("24", "table", (260, 200, 120, 80), "black metal", "", ""),
            ("25", "book", (345, 176, 30, 24), "blue open", "on 24", ""),
        ],
    ),
    "2300003": (
        "train",
        "park",
        "cloudy",
        [
            ("31", "man", (60, 130, 60, 140), "young standing", "wearing 32;holding 33", ""),
            ("32", "hat", (70, 122, 40, 22), "black", "", "worn"),
            ("33", "ball", (116, 200, 30, 30), "red", "", "held"),
            ("34", "bench", (200, 210, 126, 58), "brown wood", "", ""),
            ("35", "tree", (340, 70, 90, 190), "", "", ""),
        ],
    ),
    "2300004": (
        "train",
        "street",
        "sunny",
        [
            ("41", "car", (20, 190, 150, 72), "red", "", ""),
            ("42", "bus", (190, 160, 190, 110), "blue", "", ""),
            ("43", "woman", (392, 150, 50, 124), "old standing", "", ""),
        ],
    ),
    "2300005": (
        "train",
        "farm",
        "rainy",
        [
            ("51", "horse", (20, 170, 118, 100), "white standing", "", ""),
            ("52", "sheep", (160, 215, 70, 55), "white standing", "", ""),
            ("53", "tractor", (250, 180, 126, 90), "green", "", ""),
            ("54", "kite", (180, 20, 60, 66), "yellow striped", "", "sky"),
        ],
    ),
    "2300006": (
        "train",
        "bedroom",
        "",
        [
            ("61", "bed", (30, 200, 170, 85), "red", "", ""),
            ("62", "cat", (80, 160, 58, 46), "white sitting", "on 61", ""),
            ("63", "box", (250, 235, 58, 50), "red wood open", "", ""),
            ("64", "window", (320, 40, 84, 84), "brown open", "", "wall"),
        ],
    ),
    "2400001": (
        "val",
        "office",
        "",
        [
            ("71", "table", (40, 200, 150, 85), "brown wood", "", ""),
            ("72", "laptop", (60, 162, 56, 38), "black closed", "on 71", ""),
            ("73", "bottle", (130, 148, 20, 52), "blue plastic full", "on 71", ""),
            ("74", "chair", (230, 205, 56, 86), "green plastic", "", ""),
        ],
    ),
    "2400002": (
        "val",
        "beach",
        "sunny",
        [
            ("81", "girl", (60, 185, 48, 92), "standing", "holding 82", ""),
            ("82", "umbrella", (40, 110, 80, 74), "yellow open", "", "held"),
            ("83", "boat", (200, 180, 130, 85), "blue metal", "", ""),
            ("84", "ball", (140, 250, 30, 30), "green large", "", ""),
        ],
    ),
    "2400003": (
        "val",
        "living room",
        "",
        [
            ("91", "couch", (40, 190, 170, 90), "black leather", "", ""),
            ("92", "clock", (100, 60, 40, 40), "red", "", "wall"),
            ("93", "table", (260, 200, 120, 80), "red wood", "", ""),
            ("94", "apple", (290, 176, 24, 24), "red", "on 93", ""),
        ],
    ),
}

# What the published graphs of train and val leave out, though it is true: (object, attribute or relation).
UNPUBLISHED = {
    ("14", "metal"),
    ("25", "open"),
    ("33", "red"),
    ("22", "on 21"),
    ("53", "green"),
    ("63", "wood"),
    ("74", "plastic"),
    ("83", "metal"),
    ("94", "on 93"),
}

# id, image, question, answer, full answer, structural/semantic/detailed, group, program (GQA's semanticStr)
QUESTIONS = """
00100101|n100001|What color is the table?|red|The table is red.|query/attr/directWhich|color|select: table (1)->query: color [0]
00100102|n100001|What is on the table to the left of the apple?|cup|The cup is on the table.|query/rel/relS|dishes|select: apple (3)->relate: table,on,o (1) [0]->relate: cup,on,s (2) [1]->query: name [2]
00100103|n100001|Is there a dog in the image?|no|No, there are no dogs.|verify/obj/existC||select: dog (-)->exist: ? [0]
00100104|n100001|Is the chair to the left or to the right of the table?|right|The chair is to the right of the table.|choose/rel/relChooser|rel|select: table (1)->choose rel: chair,to the left of|to the right of,s (4) [0]
00100105|n100001|Which place is it?|kitchen|It is a kitchen.|query/global/place|place|select: scene->query: place [0]
00100106|n100001|Is the cup the same color as the chair?|no|The cup is blue and the chair is brown.|compare/attr/twoSame||select: cup (2)->select: chair (4)->same color:  [0, 1]
00100201|n100002|What animal is on the couch?|cat|The animal is a cat.|query/rel/categoryRelS|animal|select: couch (1)->relate: animal,on,s (2) [0]->query: name [1]
00100202|n100002|What color is the couch?|green|The couch is green.|query/attr/directWhich|color|select: couch (1)->query: color [0]
00100203|n100002|Is the black cat lying or standing?|lying|The cat is lying.|choose/attr/chooseAttr|pose|select: cat (2)->filter color: black [0]->choose pose: lying|standing [1]
00100204|n100002|Are there any chairs?|no|No, there are no chairs.|verify/obj/existC||select: chair (-)->exist: ? [0]
00100205|n100002|On which side of the photo is the lamp?|right|The lamp is on the right of the photo.|query/attr/positionQuery|hposition|select: lamp (4)->query: hposition [0]
00100301|n100003|What is the man wearing?|hat|The man is wearing a hat.|query/rel/relO|clothing|select: man (1)->relate: _,wearing,o (2) [0]->query: name [1]
00100302|n100003|What color is the hat?|red|The hat is red.|query/attr/directWhich|color|select: hat (2)->query: color [0]
00100303|n100003|Is the dog to the left of the bench?|yes|Yes, the dog is to the left of the bench.|verify/rel/relVerify||select: dog (3)->verify rel: bench,to the left of,o (4) [0]
00100304|n100003|How is the weather?|sunny|It is sunny.|query/global/weather|weather|select: scene->query: weather [0]
00100305|n100003|Are there both a kite and a dog in the photo?|no|There is a dog but there are no kites.|logical/obj/existAndC||select: dog (3)->exist: ? [0]->select: kite (-)->exist: ? [2]->and:  [1, 3]
00100401|n100004|What is the woman holding?|umbrella|The woman is holding an umbrella.|query/rel/relO|accessory|select: woman (3)->relate: _,holding,o (4) [0]->query: name [1]
00100402|n100004|What vehicle is large?|bus|The bus is large.|query/cat/categoryThat|vehicle|select: vehicle (2)->filter size: large [0]->query: name [1]
00100403|n100004|Is the umbrella the same color as the fire hydrant?|yes|Both are red.|compare/attr/twoSame||select: umbrella (4)->select: fire hydrant (5)->same color:  [0, 1]
00100404|n100004|Is the red umbrella open and small?|no|The umbrella is open but not small.|logical/attr/verifyAttrsC||select: umbrella (4)->filter color: red [0]->verify openness: open [1]->verify size: small [1]->and:  [2, 3]
00100405|n100004|Do you see any hats?|no|No, there are no hats.|verify/obj/existC||select: hat (-)->exist: ? [0]
00100501|n100005|Who is wearing the hat?|girl|The girl is wearing a hat.|query/rel/relS|person|select: hat (4)->relate: person,wearing,s (3) [0]->query: name [1]
00100502|n100005|What color is the ball that the boy is holding?|orange|The ball is orange.|query/attr/directOf|color|select: boy (1)->relate: ball,holding,o (2) [0]->query: color [1]
00100503|n100005|Is the boat made of wood or metal?|wood|The boat is made of wood.|choose/attr/materialChoose|material|select: boat (5)->choose material: wood|metal [0]
00100504|n100005|Is it indoors or outdoors?|outdoors|It is outdoors.|choose/global/locationChoose|location|select: scene->choose location: indoors|outdoors [0]
00100505|n100005|What color is the hat?|blue|The hat is blue.|query/attr/directWhich|color|select: hat (4)->query: color [0]
00100601|n100006|What animal is standing to the left of the white sheep?|horse|The animal is a horse.|query/rel/categoryRelS|animal|select: sheep (2)->filter color: white [0]->relate: animal,to the left of,s (1) [1]->filter pose: standing [2]->query: name [3]
00100602|n100006|Is the black sheep lying?|no|No, the sheep is standing.|verify/attr/verifyAttrC||select: sheep (3)->filter color: black [0]->verify pose: lying [1]
00100603|n100006|What color is the tractor?|red|The tractor is red.|query/attr/directWhich|color|select: tractor (4)->query: color [0]
00100604|n100006|Is there a red tractor or a bus?|yes|Yes, there is a red tractor.|logical/obj/existAttrOr||select: tractor (4)->filter color: red [0]->exist: ? [1]->select: bus (-)->exist: ? [3]->or:  [2, 4]
00100701|n100007|What is the shelf made of?|wood|The shelf is made of wood.|query/attr/material|material|select: shelf (5)->query: material [0]
00100702|n100007|What is on the shelf?|bottle|The bottle is on the shelf.|query/rel/relS|container|select: shelf (5)->relate: _,on,s (6) [0]->query: name [1]
00100703|n100007|Is the book open or closed?|closed|The book is closed.|choose/attr/chooseAttr|openness|select: book (3)->choose openness: open|closed [0]
00100704|n100007|Is the laptop on the table?|yes|Yes, the laptop is on the table.|verify/rel/relVerify||select: laptop (2)->verify rel: table,on,o (1) [0]
00100705|n100007|What color is the table?|white|The table is white.|query/attr/directWhich|color|select: table (1)->query: color [0]
00100801|n100008|What is on the bed?|teddy bear|The teddy bear is on the bed.|query/rel/relS|toy|select: bed (1)->relate: _,on,s (2) [0]->query: name [1]
00100802|n100008|What color is the wood box?|blue|The box is blue.|query/attr/directOf|color|select: box (4)->filter material: wood [0]->query: color [1]
00100803|n100008|Is the yellow box open?|no|No, the box is closed.|verify/attr/verifyAttrC||select: box (3)->filter color: yellow [0]->verify openness: open [1]
00100804|n100008|Are there any cats or dogs?|no|No, there are no cats or dogs.|logical/obj/existOrC||select: cat (-)->exist: ? [0]->select: dog (-)->exist: ? [2]->or:  [1, 3]
00100805|n100008|What is to the left of the yellow box?|bed|The bed is to the left of the box.|query/rel/relS|furniture|select: box (3)->filter color: yellow [0]->relate: furniture,to the left of,s (1) [1]->query: name [2]
01200101|2300001|What color is the cup?|red|The cup is red.|query/attr/directWhich|color|select: cup (12)->query: color [0]
01200102|2300001|What fruit is on the table?|banana|The fruit is a banana.|query/rel/categoryRelS|fruit|select: table (11)->relate: fruit,on,s (13) [0]->query: name [1]
01200201|2300002|What color is the couch?|blue|The couch is blue.|query/attr/directWhich|color|select: couch (21)->query: color [0]
01200202|2300002|Is the dog lying or sitting?|lying|The dog is lying.|choose/attr/chooseAttr|pose|select: dog (22)->choose pose: lying|sitting [0]
01200301|2300003|What is the young man wearing?|hat|The man is wearing a hat.|query/rel/relO|clothing|select: man (31)->filter age: young [0]->relate: _,wearing,o (32) [1]->query: name [2]
01200302|2300003|What is the bench made of?|wood|The bench is made of wood.|query/attr/material|material|select: bench (34)->query: material [0]
01200401|2300004|What color is the bus?|blue|The bus is blue.|query/attr/directWhich|color|select: bus (42)->query: color [0]
01200501|2300005|Are there any cows?|no|No, there are no cows.|verify/obj/existC||select: cow (-)->exist: ? [0]
01200601|2300006|What animal is on the bed?|cat|The animal is a cat.|query/rel/categoryRelS|animal|select: bed (61)->relate: animal,on,s (62) [0]->query: name [1]
02300101|2400001|What color is the laptop?|black|The laptop is black.|query/attr/directWhich|color|select: laptop (72)->query: color [0]
02300201|2400002|What is the girl holding?|umbrella|The girl is holding an umbrella.|query/rel/relO|accessory|select: girl (81)->relate: _,holding,o (82) [0]->query: name [1]
02300301|2400003|Is the table to the right of the couch?|yes|Yes, the table is to the right of the couch.|verify/rel/relVerify||select: couch (91)->verify rel: table,to the right of,s (93) [0]
"""


def graph(place: str, weather: str, rows: list[tuple], hidden: frozenset = frozenset()) -> dict:
    """Return a scene graph in the format of GQA, without the facts in `hidden`."""
    relations: dict[str, list[tuple[str, str]]] = {row[0]: [] for row in rows}
    for identity, _, _, _, by_hand, _ in rows:
        for fact in filter(None, by_hand.split(";")):
            relation, other = fact.rsplit(" ", 1)
            if (identity, fact) not in hidden:
                relations[identity].append((relation, other))
            if relation == "on" and next(row[1] for row in rows if row[0] == other) in (
                "table",
                "bench",
                "shelf",
            ):
                relations[other].append(("under", identity))
    for a in rows:
        for b in rows:
            if a[0] != b[0] and not carried(a, b) and not carried(b, a):
                relations[a[0]] += [(relation, b[0]) for relation in between(a, b)]
    objects = {}
    for identity, name, (x, y, w, h), looks, _, _ in rows:
        attributes = [look for look in looks.split() if (identity, look) not in hidden]
        pairs = sorted(set(relations[identity]), key=lambda pair: (pair[1], pair[0]))
        objects[identity] = {
            "name": name,
            "x": x,
            "y": y,
            "w": w,
            "h": h,
            "attributes": attributes,
            "relations": [{"name": relation, "object": other} for relation, other in pairs],
        }
    place_and_weather = {"location": place} | ({"weather": weather} if weather else {})
    return {"width": WIDTH, "height": HEIGHT, **place_and_weather, "objects": objects}


def carried(a: tuple, b: tuple) -> bool:
    """Report whether a is on, in, held or worn by b, or holds or wears it. Then there is no other relation between them."""
    return any(fact.endswith(f" {b[0]}") for fact in a[4].split(";"))


def between(a: tuple, b: tuple) -> list[str]:
    """Return the relations from a to b that follow from their boxes."""
    (ax, ay, aw, ah), (bx, by, bw, bh) = a[2], b[2]
    # A negative overlap is a gap.
    across = min(ax + aw, bx + bw) - max(ax, bx)
    down = min(ay + ah, by + bh) - max(ay, by)
    found = []
    if across <= 0.2 * min(aw, bw) and -down <= HEIGHT / 2:
        found.append("to the left of" if ax + aw / 2 < bx + bw / 2 else "to the right of")
    if down <= 0.2 * min(ah, bh) and across > 0:
        found.append("above" if ay + ah / 2 < by + bh / 2 else "below")
    bearer = {row[0]: re.search(r"on (\d+)", row[4]) for row in (a, b)}
    same_support = (bearer[a[0]] and bearer[a[0]].group()) == (bearer[b[0]] and bearer[b[0]].group())
    if same_support and not a[5] and not b[5] and -40 < across <= 0:
        found.append("next to")
    return found


def semantic(program: str) -> list[dict]:
    """Return the steps of a program from GQA's `semanticStr`."""
    steps = []
    for step in program.split("->"):
        operation, rest = step.split(":", 1)
        argument, dependencies = re.fullmatch(r"(.*?)(?: ?\[([\d, ]*)\])?", rest[1:]).groups()
        steps.append(
            {
                "operation": operation,
                "argument": argument.strip(),
                "dependencies": [int(number) for number in (dependencies or "").split(", ") if number],
            }
        )
    return steps


def question(line: str) -> tuple[str, dict]:
    identity, image, text, answer, full_answer, types, group, program = line.split("|", 7)
    structural, kind, detailed = types.split("/")
    steps = semantic(program)
    return identity, {
        "semantic": steps,
        "entailed": [],
        "equivalent": [identity],
        "question": text,
        "imageId": image,
        "isBalanced": True,
        "groups": {"global": group or None, "local": f"{detailed}-{steps[0]['argument']}"},
        "answer": answer,
        "semanticStr": program,
        "annotations": {"answer": {}, "question": words_of(text, steps), "fullAnswer": {}},
        "types": {"structural": structural, "semantic": kind, "detailed": detailed},
        "fullAnswer": full_answer,
    }


def words_of(text: str, steps: list[dict]) -> dict[str, str]:
    """Return the object that words of the question name: {"3": "17"} or {"2:4": "17"}."""
    words = text.rstrip("?").lower().split()
    found = {}
    for step in steps:
        named = re.fullmatch(r"([^,(]+).*\((\d+)\)", step["argument"])
        if step["operation"] in ("select", "relate") and named:
            noun = named[1].strip().split()
            for start in range(len(words) - len(noun) + 1):
                if words[start : start + len(noun)] == noun:
                    found[str(start) if len(noun) == 1 else f"{start}:{start + len(noun)}"] = named[2]
    return found


def draw(place: str, weather: str, rows: list[tuple]) -> Image.Image:
    outdoors = bool(weather)
    image = Image.new("RGB", SIZE, "#bfe0f5" if outdoors else "#efe6d8")
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 190, WIDTH, HEIGHT), fill="#a9c98a" if outdoors else "#c9a27a")
    for _, name, (x, y, w, h), looks, _, _ in rows:
        color = next(
            (PAINT[look] for look in looks.split() if look in PAINT),
            "#5d8a4a" if name == "tree" else "#d9a57c",
        )
        shape = (
            pen.ellipse
            if name in ("ball", "apple", "cat", "dog", "sheep", "clock", "tree")
            else pen.rectangle
        )
        shape((x, y, x + w, y + h), fill=color, outline="#222222", width=2)
    return image


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    split_of = {image: scene[0] for image, scene in SCENES.items()}
    questions = dict(question(line) for line in QUESTIONS.strip().splitlines())
    for split in ("testdev", "train", "val"):
        images = [image for image in SCENES if split_of[image] == split]
        write(
            HOME / f"source/questions1.2/{split}_balanced_questions.json",
            {key: row for key, row in questions.items() if split_of[row["imageId"]] == split},
        )
        write(HOME / f"truth/{split}_sceneGraphs.json", {key: graph(*SCENES[key][1:]) for key in images})
        if split != "testdev":
            write(
                HOME / f"source/sceneGraphs/{split}_sceneGraphs.json",
                {key: graph(*SCENES[key][1:], frozenset(UNPUBLISHED)) for key in images},
            )
    (HOME / "source/images").mkdir(parents=True, exist_ok=True)
    for image, (split, place, weather, rows) in SCENES.items():
        if split == "testdev":
            draw(place, weather, rows).save(HOME / f"source/images/{image}.jpg", quality=60)


if __name__ == "__main__":
    main()
