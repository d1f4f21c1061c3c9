"""Which kinds of things the sample world has, and what can be said of each.

A kind is drawn in one way that cannot be mistaken for another's; its colour, material, pattern, size, state and
pose are what `drawing` shows and `scenes` writes into the truth as attributes. `None` in place of a list of
colours means that the kind has one natural look and its colour is not an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

COLORS: dict[str, str] = {
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
MATERIALS = ("wood", "metal", "plastic", "glass", "leather", "stone")
PATTERNS = ("striped", "dotted", "checkered")
SIZES = ("small", "large")  # an object of middle size carries no size attribute
STATES: dict[str, tuple[str, str]] = {  # state type -> the two states drawn
    "openness": ("open", "closed"),
    "light": ("on", "off"),
    "fullness": ("full", "empty"),
}
POSES = ("standing", "sitting", "lying")
AGES = ("young", "old")

# GQA's name for the type of each attribute, as in `filter color: red` and `query color`.
ATTRIBUTE_TYPES: dict[str, str] = (
    dict.fromkeys(COLORS, "color")
    | dict.fromkeys(MATERIALS, "material")
    | dict.fromkeys(PATTERNS, "pattern")
    | dict.fromkeys(SIZES, "size")
    | {state: kind for kind, pair in STATES.items() for state in pair}
    | dict.fromkeys(POSES, "pose")
    | dict.fromkeys(AGES, "age")
)

INDOORS = ("kitchen", "living room", "bedroom", "office")
OUTDOORS = ("park", "street", "beach", "farm")
PLACES = INDOORS + OUTDOORS
WEATHERS = ("sunny", "cloudy", "rainy", "snowy")  # outdoors only; drawn in the sky


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing.

    Attributes:
        name, plural: as questions say it; `number` is "plural" for names that are plural themselves (jeans).
        category: the hypernym that questions use ("What kind of furniture ..."); "" for none.
        size: width and height in pixels of a picture 448 wide, for an object of middle size.
        rests: where it may be: "floor" (stands on floor or ground), "top" (on something that supports),
            "wall", "sky", "hand" (held by a person), "head"/"body" (worn), "inside" (in something that contains).
    """

    name: str
    plural: str
    category: str
    size: tuple[int, int]
    rests: tuple[str, ...]
    places: tuple[str, ...] = PLACES
    colors: tuple[str, ...] | None = None
    materials: tuple[str, ...] = ()
    patterned: bool = False
    state: str = ""  # a key of STATES
    poses: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    sized: bool = True
    number: str = "singular"


_ALL = tuple(color for color in COLORS)
_BRIGHT = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black")
_FUR = ("brown", "black", "white", "gray", "orange")

KINDS: tuple[Kind, ...] = (
    # people
    Kind(
        "man", "men", "person", (54, 128), ("floor",), poses=("standing", "sitting"), ages=AGES, sized=False
    ),
    Kind(
        "woman",
        "women",
        "person",
        (54, 124),
        ("floor",),
        poses=("standing", "sitting"),
        ages=AGES,
        sized=False,
    ),
    Kind("boy", "boys", "person", (42, 86), ("floor",), poses=("standing", "sitting"), sized=False),
    Kind("girl", "girls", "person", (42, 84), ("floor",), poses=("standing", "sitting"), sized=False),
    # animals
    Kind("dog", "dogs", "animal", (78, 58), ("floor",), colors=_FUR, poses=("standing", "sitting", "lying")),
    Kind(
        "cat",
        "cats",
        "animal",
        (58, 46),
        ("floor", "top"),
        colors=_FUR,
        poses=("standing", "sitting", "lying"),
    ),
    Kind(
        "bird",
        "birds",
        "animal",
        (34, 28),
        ("top", "sky"),
        OUTDOORS,
        ("red", "blue", "yellow", "black", "white"),
    ),
    Kind(
        "horse",
        "horses",
        "animal",
        (118, 100),
        ("floor",),
        ("park", "farm"),
        ("brown", "black", "white", "gray"),
        poses=("standing", "lying"),
    ),
    Kind(
        "cow",
        "cows",
        "animal",
        (112, 84),
        ("floor",),
        ("farm",),
        ("brown", "black", "white"),
        poses=("standing", "lying"),
    ),
    Kind(
        "sheep",
        "sheep",
        "animal",
        (80, 62),
        ("floor",),
        ("farm",),
        ("white", "black", "gray"),
        poses=("standing", "lying"),
    ),
    Kind(
        "duck",
        "ducks",
        "animal",
        (42, 36),
        ("floor",),
        ("park", "farm", "beach"),
        ("yellow", "white", "brown"),
    ),
    # furniture
    Kind(
        "table",
        "tables",
        "furniture",
        (130, 74),
        ("floor",),
        ("kitchen", "living room", "office", "park"),
        ("brown", "white", "black", "red", "gray"),
        ("wood", "metal", "plastic", "glass"),
    ),
    Kind(
        "chair",
        "chairs",
        "furniture",
        (54, 84),
        ("floor",),
        (*INDOORS, "park", "beach"),
        _ALL,
        ("wood", "metal", "plastic"),
    ),
    Kind(
        "couch",
        "couches",
        "furniture",
        (150, 78),
        ("floor",),
        ("living room", "office"),
        _ALL,
        ("leather",),
        patterned=True,
    ),
    Kind(
        "bed",
        "beds",
        "furniture",
        (170, 78),
        ("floor",),
        ("bedroom",),
        _BRIGHT,
        patterned=True,
    ),
    Kind(
        "shelf",
        "shelves",
        "furniture",
        (96, 130),
        ("floor",),
        INDOORS,
        ("brown", "white", "black", "red", "blue"),
        ("wood", "metal"),
    ),
    Kind(
        "cabinet",
        "cabinets",
        "furniture",
        (86, 84),
        ("floor",),
        INDOORS,
        ("brown", "white", "gray", "blue", "green"),
        ("wood", "metal"),
        state="openness",
    ),
    Kind(
        "bench",
        "benches",
        "furniture",
        (126, 58),
        ("floor",),
        ("park", "street", "beach"),
        ("brown", "green", "gray", "red", "blue"),
        ("wood", "metal", "stone"),
    ),
    # appliances and electronics
    Kind(
        "refrigerator",
        "refrigerators",
        "appliance",
        (70, 136),
        ("floor",),
        ("kitchen",),
        ("white", "gray", "red", "blue", "black"),
        state="openness",
    ),
    Kind(
        "stove",
        "stoves",
        "appliance",
        (74, 78),
        ("floor",),
        ("kitchen",),
        ("white", "black", "gray", "red"),
        state="light",
    ),
    Kind(
        "lamp",
        "lamps",
        "appliance",
        (36, 62),
        ("top",),
        INDOORS,
        _BRIGHT,
        ("metal", "plastic"),
        state="light",
    ),
    Kind(
        "television",
        "televisions",
        "device",
        (92, 62),
        ("top", "wall"),
        ("living room", "bedroom"),
        ("black", "gray", "white"),
        state="light",
    ),
    Kind(
        "laptop",
        "laptops",
        "device",
        (56, 38),
        ("top",),
        INDOORS,
        ("black", "gray", "white", "red", "blue"),
        state="openness",
    ),
    Kind(
        "clock", "clocks", "device", (40, 40), ("wall", "top"), INDOORS, _BRIGHT, ("wood", "metal", "plastic")
    ),
    Kind(
        "telephone",
        "telephones",
        "device",
        (40, 30),
        ("top",),
        ("office", "living room", "bedroom"),
        ("red", "black", "white", "green", "blue"),
    ),
    # dishes and containers
    Kind(
        "cup",
        "cups",
        "dishes",
        (24, 26),
        ("top", "hand"),
        (*INDOORS, "park"),
        _ALL,
        ("plastic", "metal", "glass"),
        patterned=True,
    ),
    Kind(
        "plate",
        "plates",
        "dishes",
        (48, 18),
        ("top",),
        ("kitchen", "living room", "park"),
        _ALL,
        ("plastic", "metal"),
    ),
    Kind(
        "bowl",
        "bowls",
        "dishes",
        (46, 28),
        ("top",),
        ("kitchen", "living room"),
        _ALL,
        ("wood", "metal", "plastic"),
        patterned=True,
        state="fullness",
    ),
    Kind(
        "bottle",
        "bottles",
        "container",
        (20, 52),
        ("top", "hand", "floor"),
        PLACES,
        ("green", "blue", "red", "brown", "white"),
        ("glass", "plastic"),
        state="fullness",
    ),
    Kind(
        "vase",
        "vases",
        "container",
        (30, 48),
        ("top",),
        INDOORS,
        _ALL,
        ("glass", "stone", "metal"),
        patterned=True,
    ),
    Kind(
        "basket",
        "baskets",
        "container",
        (60, 44),
        ("floor", "top"),
        PLACES,
        ("brown", "white", "red", "yellow"),
        ("wood", "plastic", "metal"),
        state="fullness",
    ),
    Kind(
        "box",
        "boxes",
        "container",
        (58, 50),
        ("floor", "top"),
        PLACES,
        _ALL,
        ("wood", "metal", "plastic"),
        patterned=True,
        state="openness",
    ),
    Kind(
        "backpack", "backpacks", "bag", (46, 54), ("floor", "top"), PLACES, _ALL, ("leather",), patterned=True
    ),
    # food
    Kind("apple", "apples", "fruit", (22, 24), ("top", "hand", "inside"), PLACES, ("red", "green", "yellow")),
    Kind("banana", "bananas", "fruit", (34, 22), ("top", "hand", "inside"), PLACES, ("yellow", "green")),
    Kind("pear", "pears", "fruit", (22, 28), ("top", "inside"), PLACES, ("green", "yellow")),
    Kind("pizza", "pizzas", "food", (50, 16), ("top",), ("kitchen", "living room", "park"), None),
    Kind(
        "cake",
        "cakes",
        "food",
        (46, 42),
        ("top",),
        ("kitchen", "living room", "park"),
        ("white", "pink", "brown", "yellow", "blue"),
    ),
    Kind("sandwich", "sandwiches", "food", (38, 22), ("top",), (*INDOORS, "park", "beach"), None),
    # clothing
    Kind(
        "hat",
        "hats",
        "clothing",
        (34, 20),
        ("head", "top"),
        PLACES,
        _ALL,
        ("leather",),
        patterned=True,
        sized=False,
    ),
    Kind("shirt", "shirts", "clothing", (44, 44), ("body",), PLACES, _ALL, patterned=True, sized=False),
    Kind(
        "jeans",
        "jeans",
        "clothing",
        (34, 50),
        ("body",),
        PLACES,
        ("blue", "black", "gray", "white"),
        sized=False,
        number="plural",
    ),
    # vehicles
    Kind("car", "cars", "vehicle", (150, 70), ("floor",), ("street",), _ALL),
    Kind(
        "bus",
        "buses",
        "vehicle",
        (190, 104),
        ("floor",),
        ("street",),
        ("red", "yellow", "blue", "green", "white", "orange"),
    ),
    Kind("bicycle", "bicycles", "vehicle", (100, 66), ("floor",), ("park", "street", "beach"), _BRIGHT),
    Kind("boat", "boats", "vehicle", (120, 84), ("floor",), ("beach",), _BRIGHT, ("wood", "metal")),
    Kind(
        "tractor",
        "tractors",
        "vehicle",
        (126, 90),
        ("floor",),
        ("farm",),
        ("red", "green", "blue", "yellow", "orange"),
    ),
    # toys and sport
    Kind("ball", "balls", "toy", (34, 34), ("floor", "hand", "top"), PLACES, _ALL, patterned=True),
    Kind("kite", "kites", "toy", (54, 60), ("sky",), ("park", "beach", "farm"), _BRIGHT, patterned=True),
    Kind(
        "teddy bear",
        "teddy bears",
        "toy",
        (42, 52),
        ("floor", "top", "hand"),
        ("bedroom", "living room", "park"),
        ("brown", "white", "pink", "gray"),
    ),
    Kind(
        "umbrella",
        "umbrellas",
        "accessory",
        (70, 74),
        ("hand", "floor"),
        ("park", "street", "beach", "farm"),
        _ALL,
        patterned=True,
        state="openness",
    ),
    Kind("book", "books", "", (38, 28), ("top", "hand"), (*INDOORS, "park", "beach"), _ALL, state="openness"),
    # plants and street
    Kind("tree", "trees", "plant", (96, 150), ("floor",), OUTDOORS, None),
    Kind(
        "flower",
        "flowers",
        "plant",
        (24, 44),
        ("floor", "inside"),
        (*OUTDOORS, "living room", "bedroom", "kitchen"),
        ("red", "yellow", "pink", "purple", "white", "orange"),
    ),
    Kind("bush", "bushes", "plant", (80, 54), ("floor",), OUTDOORS, None),
    Kind("traffic light", "traffic lights", "", (26, 130), ("floor",), ("street",), None, sized=False),
    Kind(
        "fire hydrant",
        "fire hydrants",
        "",
        (36, 54),
        ("floor",),
        ("street", "park"),
        ("red", "yellow", "green", "blue"),
        sized=False,
    ),
    Kind(
        "trash can",
        "trash cans",
        "container",
        (46, 62),
        ("floor",),
        PLACES,
        ("gray", "green", "black", "blue", "red"),
        ("metal", "plastic"),
        state="openness",
    ),
    # on the wall
    Kind(
        "painting",
        "paintings",
        "decoration",
        (70, 52),
        ("wall",),
        INDOORS,
        ("brown", "black", "white", "red", "blue"),
        ("wood", "metal"),
    ),
    Kind(
        "mirror",
        "mirrors",
        "decoration",
        (56, 76),
        ("wall",),
        ("bedroom", "living room"),
        ("brown", "black", "white", "yellow"),
        ("wood", "metal", "plastic"),
    ),
    Kind(
        "window",
        "windows",
        "building part",
        (84, 84),
        ("wall",),
        INDOORS,
        ("white", "brown", "blue", "green"),
        ("wood", "metal"),
        state="openness",
    ),
    Kind(
        "curtain",
        "curtains",
        "decoration",
        (60, 110),
        ("wall",),
        ("living room", "bedroom", "office"),
        _ALL,
        patterned=True,
        state="openness",
    ),
)

BY_NAME: dict[str, Kind] = {kind.name: kind for kind in KINDS}
CATEGORIES: dict[str, tuple[str, ...]] = {
    category: tuple(kind.name for kind in KINDS if kind.category == category)
    for category in dict.fromkeys(kind.category for kind in KINDS if kind.category)
}
