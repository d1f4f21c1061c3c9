"""Define the kinds of objects in the synthetic world, and their attributes.

Each kind has one drawing, which cannot be mistaken for the drawing of another kind. Color, material, pattern,
size, state and pose are visible in the drawing (`rendering`) and listed as attributes in scene graphs. A kind
without a list of colors has one natural color, which is not an attribute.
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
# Values of the size attribute. An object of middle size has no size attribute.
SIZES = ("small", "large")
# State type -> its two states.
STATES: dict[str, tuple[str, str]] = {
    "openness": ("open", "closed"),
    "light": ("on", "off"),
    "fullness": ("full", "empty"),
}
POSES = ("standing", "sitting", "lying")
AGES = ("young", "old")

# Attribute -> GQA's name of its type, as in `filter color: red` and `query color`.
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
LOCATIONS = INDOORS + OUTDOORS
# Only outdoor scenes have weather.
WEATHERS = ("sunny", "cloudy", "rainy", "snowy")


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object.

    Attributes:
        name, plural: Singular and plural name in questions. `number` is "plural" for kinds whose name is
            always a plural (jeans).
        category: The hypernym in questions ("What kind of furniture ..."); "" for none.
        size: Width and height of an object of middle size, in pixels of an image that is 448 pixels wide.
        placements: Where an object may be: "floor" (on floor or ground), "top" (on a supporter), "wall",
            "sky", "hand" (held by a person), "head"/"body" (worn), "inside" (in a container).
        locations: Locations of scenes in which the kind occurs.
        colors, materials, poses, ages: Possible attributes.
        state: A key of STATES.
        is_patternable, has_size: Whether an object may have a pattern, or a size attribute.
    """

    name: str
    plural: str
    category: str
    size: tuple[int, int]
    placements: tuple[str, ...]
    locations: tuple[str, ...] = LOCATIONS
    colors: tuple[str, ...] | None = None
    materials: tuple[str, ...] = ()
    is_patternable: bool = False
    state: str = ""
    poses: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    has_size: bool = True
    number: str = "singular"


_ALL_COLORS = tuple(color for color in COLORS)
_BRIGHT_COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black")
_FUR_COLORS = ("brown", "black", "white", "gray", "orange")

KINDS: tuple[ObjectKind, ...] = (
    # people
    ObjectKind(
        "man",
        "men",
        "person",
        (54, 128),
        ("floor",),
        poses=("standing", "sitting"),
        ages=AGES,
        has_size=False,
    ),
    ObjectKind(
        "woman",
        "women",
        "person",
        (54, 124),
        ("floor",),
        poses=("standing", "sitting"),
        ages=AGES,
        has_size=False,
    ),
    ObjectKind("boy", "boys", "person", (42, 86), ("floor",), poses=("standing", "sitting"), has_size=False),
    ObjectKind(
        "girl", "girls", "person", (42, 84), ("floor",), poses=("standing", "sitting"), has_size=False
    ),
    # animals
    ObjectKind(
        "dog",
        "dogs",
        "animal",
        (78, 58),
        ("floor",),
        colors=_FUR_COLORS,
        poses=("standing", "sitting", "lying"),
    ),
    ObjectKind(
        "cat",
        "cats",
        "animal",
        (58, 46),
        ("floor", "top"),
        colors=_FUR_COLORS,
        poses=("standing", "sitting", "lying"),
    ),
    ObjectKind(
        "bird",
        "birds",
        "animal",
        (34, 28),
        ("top", "sky"),
        OUTDOORS,
        ("red", "blue", "yellow", "black", "white"),
    ),
    ObjectKind(
        "horse",
        "horses",
        "animal",
        (118, 100),
        ("floor",),
        ("park", "farm"),
        ("brown", "black", "white", "gray"),
        poses=("standing", "lying"),
    ),
    ObjectKind(
        "cow",
        "cows",
        "animal",
        (112, 84),
        ("floor",),
        ("farm",),
        ("brown", "black", "white"),
        poses=("standing", "lying"),
    ),
    ObjectKind(
        "sheep",
        "sheep",
        "animal",
        (80, 62),
        ("floor",),
        ("farm",),
        ("white", "black", "gray"),
        poses=("standing", "lying"),
    ),
    ObjectKind(
        "duck",
        "ducks",
        "animal",
        (42, 36),
        ("floor",),
        ("park", "farm", "beach"),
        ("yellow", "white", "brown"),
    ),
    # furniture
    ObjectKind(
        "table",
        "tables",
        "furniture",
        (130, 74),
        ("floor",),
        ("kitchen", "living room", "office", "park"),
        ("brown", "white", "black", "red", "gray"),
        ("wood", "metal", "plastic", "glass"),
    ),
    ObjectKind(
        "chair",
        "chairs",
        "furniture",
        (54, 84),
        ("floor",),
        (*INDOORS, "park", "beach"),
        _ALL_COLORS,
        ("wood", "metal", "plastic"),
    ),
    ObjectKind(
        "couch",
        "couches",
        "furniture",
        (150, 78),
        ("floor",),
        ("living room", "office"),
        _ALL_COLORS,
        ("leather",),
        is_patternable=True,
    ),
    ObjectKind(
        "bed",
        "beds",
        "furniture",
        (170, 78),
        ("floor",),
        ("bedroom",),
        _BRIGHT_COLORS,
        is_patternable=True,
    ),
    ObjectKind(
        "shelf",
        "shelves",
        "furniture",
        (96, 130),
        ("floor",),
        INDOORS,
        ("brown", "white", "black", "red", "blue"),
        ("wood", "metal"),
    ),
    ObjectKind(
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
    ObjectKind(
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
    ObjectKind(
        "refrigerator",
        "refrigerators",
        "appliance",
        (70, 136),
        ("floor",),
        ("kitchen",),
        ("white", "gray", "red", "blue", "black"),
        state="openness",
    ),
    ObjectKind(
        "stove",
        "stoves",
        "appliance",
        (74, 78),
        ("floor",),
        ("kitchen",),
        ("white", "black", "gray", "red"),
        state="light",
    ),
    ObjectKind(
        "lamp",
        "lamps",
        "appliance",
        (36, 62),
        ("top",),
        INDOORS,
        _BRIGHT_COLORS,
        ("metal", "plastic"),
        state="light",
    ),
    ObjectKind(
        "television",
        "televisions",
        "device",
        (92, 62),
        ("top", "wall"),
        ("living room", "bedroom"),
        ("black", "gray", "white"),
        state="light",
    ),
    ObjectKind(
        "laptop",
        "laptops",
        "device",
        (56, 38),
        ("top",),
        INDOORS,
        ("black", "gray", "white", "red", "blue"),
        state="openness",
    ),
    ObjectKind(
        "clock",
        "clocks",
        "device",
        (40, 40),
        ("wall", "top"),
        INDOORS,
        _BRIGHT_COLORS,
        ("wood", "metal", "plastic"),
    ),
    ObjectKind(
        "telephone",
        "telephones",
        "device",
        (40, 30),
        ("top",),
        ("office", "living room", "bedroom"),
        ("red", "black", "white", "green", "blue"),
    ),
    # dishes and containers
    ObjectKind(
        "cup",
        "cups",
        "dishes",
        (24, 26),
        ("top", "hand"),
        (*INDOORS, "park"),
        _ALL_COLORS,
        ("plastic", "metal", "glass"),
        is_patternable=True,
    ),
    ObjectKind(
        "plate",
        "plates",
        "dishes",
        (48, 18),
        ("top",),
        ("kitchen", "living room", "park"),
        _ALL_COLORS,
        ("plastic", "metal"),
    ),
    ObjectKind(
        "bowl",
        "bowls",
        "dishes",
        (46, 28),
        ("top",),
        ("kitchen", "living room"),
        _ALL_COLORS,
        ("wood", "metal", "plastic"),
        is_patternable=True,
        state="fullness",
    ),
    ObjectKind(
        "bottle",
        "bottles",
        "container",
        (20, 52),
        ("top", "hand", "floor"),
        LOCATIONS,
        ("green", "blue", "red", "brown", "white"),
        ("glass", "plastic"),
        state="fullness",
    ),
    ObjectKind(
        "vase",
        "vases",
        "container",
        (30, 48),
        ("top",),
        INDOORS,
        _ALL_COLORS,
        ("glass", "stone", "metal"),
        is_patternable=True,
    ),
    ObjectKind(
        "basket",
        "baskets",
        "container",
        (60, 44),
        ("floor", "top"),
        LOCATIONS,
        ("brown", "white", "red", "yellow"),
        ("wood", "plastic", "metal"),
        state="fullness",
    ),
    ObjectKind(
        "box",
        "boxes",
        "container",
        (58, 50),
        ("floor", "top"),
        LOCATIONS,
        _ALL_COLORS,
        ("wood", "metal", "plastic"),
        is_patternable=True,
        state="openness",
    ),
    ObjectKind(
        "backpack",
        "backpacks",
        "bag",
        (46, 54),
        ("floor", "top"),
        LOCATIONS,
        _ALL_COLORS,
        ("leather",),
        is_patternable=True,
    ),
    # food
    ObjectKind(
        "apple", "apples", "fruit", (22, 24), ("top", "hand", "inside"), LOCATIONS, ("red", "green", "yellow")
    ),
    ObjectKind(
        "banana", "bananas", "fruit", (34, 22), ("top", "hand", "inside"), LOCATIONS, ("yellow", "green")
    ),
    ObjectKind("pear", "pears", "fruit", (22, 28), ("top", "inside"), LOCATIONS, ("green", "yellow")),
    ObjectKind("pizza", "pizzas", "food", (50, 16), ("top",), ("kitchen", "living room", "park"), None),
    ObjectKind(
        "cake",
        "cakes",
        "food",
        (46, 42),
        ("top",),
        ("kitchen", "living room", "park"),
        ("white", "pink", "brown", "yellow", "blue"),
    ),
    ObjectKind("sandwich", "sandwiches", "food", (38, 22), ("top",), (*INDOORS, "park", "beach"), None),
    # clothing
    ObjectKind(
        "hat",
        "hats",
        "clothing",
        (34, 20),
        ("head", "top"),
        LOCATIONS,
        _ALL_COLORS,
        ("leather",),
        is_patternable=True,
        has_size=False,
    ),
    ObjectKind(
        "shirt",
        "shirts",
        "clothing",
        (44, 44),
        ("body",),
        LOCATIONS,
        _ALL_COLORS,
        is_patternable=True,
        has_size=False,
    ),
    ObjectKind(
        "jeans",
        "jeans",
        "clothing",
        (34, 50),
        ("body",),
        LOCATIONS,
        ("blue", "black", "gray", "white"),
        has_size=False,
        number="plural",
    ),
    # vehicles
    ObjectKind("car", "cars", "vehicle", (150, 70), ("floor",), ("street",), _ALL_COLORS),
    ObjectKind(
        "bus",
        "buses",
        "vehicle",
        (190, 104),
        ("floor",),
        ("street",),
        ("red", "yellow", "blue", "green", "white", "orange"),
    ),
    ObjectKind(
        "bicycle", "bicycles", "vehicle", (100, 66), ("floor",), ("park", "street", "beach"), _BRIGHT_COLORS
    ),
    ObjectKind(
        "boat", "boats", "vehicle", (120, 84), ("floor",), ("beach",), _BRIGHT_COLORS, ("wood", "metal")
    ),
    ObjectKind(
        "tractor",
        "tractors",
        "vehicle",
        (126, 90),
        ("floor",),
        ("farm",),
        ("red", "green", "blue", "yellow", "orange"),
    ),
    # toys and sport
    ObjectKind(
        "ball",
        "balls",
        "toy",
        (34, 34),
        ("floor", "hand", "top"),
        LOCATIONS,
        _ALL_COLORS,
        is_patternable=True,
    ),
    ObjectKind(
        "kite",
        "kites",
        "toy",
        (54, 60),
        ("sky",),
        ("park", "beach", "farm"),
        _BRIGHT_COLORS,
        is_patternable=True,
    ),
    ObjectKind(
        "teddy bear",
        "teddy bears",
        "toy",
        (42, 52),
        ("floor", "top", "hand"),
        ("bedroom", "living room", "park"),
        ("brown", "white", "pink", "gray"),
    ),
    ObjectKind(
        "umbrella",
        "umbrellas",
        "accessory",
        (70, 74),
        ("hand", "floor"),
        ("park", "street", "beach", "farm"),
        _ALL_COLORS,
        is_patternable=True,
        state="openness",
    ),
    ObjectKind(
        "book",
        "books",
        "",
        (38, 28),
        ("top", "hand"),
        (*INDOORS, "park", "beach"),
        _ALL_COLORS,
        state="openness",
    ),
    # plants and street
    ObjectKind("tree", "trees", "plant", (96, 150), ("floor",), OUTDOORS, None),
    ObjectKind(
        "flower",
        "flowers",
        "plant",
        (24, 44),
        ("floor", "inside"),
        (*OUTDOORS, "living room", "bedroom", "kitchen"),
        ("red", "yellow", "pink", "purple", "white", "orange"),
    ),
    ObjectKind("bush", "bushes", "plant", (80, 54), ("floor",), OUTDOORS, None),
    ObjectKind(
        "traffic light", "traffic lights", "", (26, 130), ("floor",), ("street",), None, has_size=False
    ),
    ObjectKind(
        "fire hydrant",
        "fire hydrants",
        "",
        (36, 54),
        ("floor",),
        ("street", "park"),
        ("red", "yellow", "green", "blue"),
        has_size=False,
    ),
    ObjectKind(
        "trash can",
        "trash cans",
        "container",
        (46, 62),
        ("floor",),
        LOCATIONS,
        ("gray", "green", "black", "blue", "red"),
        ("metal", "plastic"),
        state="openness",
    ),
    # on the wall
    ObjectKind(
        "painting",
        "paintings",
        "decoration",
        (70, 52),
        ("wall",),
        INDOORS,
        ("brown", "black", "white", "red", "blue"),
        ("wood", "metal"),
    ),
    ObjectKind(
        "mirror",
        "mirrors",
        "decoration",
        (56, 76),
        ("wall",),
        ("bedroom", "living room"),
        ("brown", "black", "white", "yellow"),
        ("wood", "metal", "plastic"),
    ),
    ObjectKind(
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
    ObjectKind(
        "curtain",
        "curtains",
        "decoration",
        (60, 110),
        ("wall",),
        ("living room", "bedroom", "office"),
        _ALL_COLORS,
        is_patternable=True,
        state="openness",
    ),
)

KIND_BY_NAME: dict[str, ObjectKind] = {kind.name: kind for kind in KINDS}
CATEGORIES: dict[str, tuple[str, ...]] = {
    category: tuple(kind.name for kind in KINDS if kind.category == category)
    for category in dict.fromkeys(kind.category for kind in KINDS if kind.category)
}
