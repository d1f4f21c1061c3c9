"""The table of wordings: what may be said in place of what. Our own judgement; all of it is said in GQA's questions.

All wordings of a row mean the same, and each becomes any other one. One that starts with `<` is read but never said, as it
is rare or odd; one with `>` is said but never read, as its parts cannot be told apart. A row ends with an example, before which
"nameless" says: only where the program has no name for what is asked (what the man wears); "named": only where it has one.

    {the}   a phrase that starts with the, this, her ...    {who}   the same, or he, she, it, they
    {x} {y} anything up to a comma                          {a} {b} a or an, and up to three words
    {kind}  what is asked for: color, kind of furniture     {acting}    standing ..., in front of ...
    {be} {do} {have}    is, does, has; or are, do, have, by the number of what was read
    {wear} {wears} {wearing}    a verb of VERBS; {wears} is "wear" of several
    {look} {one} {two}  what the program offers or verifies: red, red or blue, red and large
The other names in braces are lists of LISTS, one word or phrase of which stands there.
"""

from __future__ import annotations

from typing import NamedTuple

from pipeline.language.word_lists import parse_groups


class TemplateGroup(NamedTuple):
    """Wordings that mean the same; and for a test a text, with what it may become.

    Attributes:
        nameless: only where the program has no name for what is asked (True), or has one (False).
    """

    templates: tuple[str, ...]
    example: str
    example_paraphrase: str
    is_nameless: bool | None


def parse_templates(table: str) -> tuple[TemplateGroup, ...]:
    """The rows of a table, which empty lines part; `|` or a line's end parts wordings.

    >>> parse_templates("a lamp | a light\\n= Is it a lamp? -> Is it a light?")
    (TemplateGroup(templates=('a lamp', 'a light'), example='Is it a lamp?', example_paraphrase='Is it a light?', is_nameless=None),)
    """
    found = []
    for block in table.strip().split("\n\n"):
        *lines, example = block.split("\n")
        when, _, example = example.partition("= ")
        text, _, becomes = example.partition(" -> ")
        wordings = tuple(wording for line in lines for wording in line.split(" | "))
        found.append(TemplateGroup(wordings, text, becomes, {"nameless ": True, "named ": False}.get(when)))
    return tuple(found)


ACTION_VERBS = parse_groups("wear, wears, wearing; hold, holds, holding; carry, carries, carrying")
PLACEHOLDER_WORDS = {
    "this": "the, this",
    "of": "of, in",
    "that": "that, which, who",
    "image": "picture, photo, image, photograph, scene",
    "person": "man, woman, boy, girl, person, people, lady, guy, child, player, skateboarder, surfer, men, women, children",
    "does": "is, are, wears, wear, holds, hold, looks, look",
    "ask": "What, Who, Where, How",
    "what": "what, which",
    "furniture": "furniture",
    "clothing": "clothing",
    "side": "left, right",
    "sides": "to the left or to the right of, to the right or to the left of, behind or in front of, in front of or behind",
    "at": "in front of, on top of, next to, to the left of, to the right of, behind, near, beside, under, below, above, on, in",
    "place": "place, room, kind of place, type of place, kind of room, type of room",
    "how": "tall, long, old, clean, wide, thick, deep, fat, heavy",
    "asked": """
        color, material, kind, type, animal, animals, place, room, piece, pieces, item, items, article, articles, clothing,
        vehicle, vehicles, device, devices, food, fruit, fruits, vegetable, vegetables, drink, dessert, furniture, appliance,
        utensil, side, part, size, shape
    """,
    "doing": """
        wearing, holding, carrying, doing, riding, eating, playing, playing with, using, reading, watching, looking at,
        sitting on, sitting in, standing on, standing in, standing near, lying on, leaning on, leaning against, pulling,
        throwing, kicking, swinging, drinking, catching, jumping over, walking on, on, in, under, near, behind, in front of
    """,
}

# A whole question; what follows a comma ("..., red or blue?") stays at its end. The first row that fits is taken.
QUESTION_TEMPLATES = parse_templates("""
What color {be} {the}? | Which color {be} {the}? | Of what color {be} {the}? | Of which color {be} {the}?
What color {do} {the} have? | {the} {have} what color? | {the} {be} what color?
What color do you think {the} {be}? | What is the color of {the}? | <Which color {do} {the} have?
<Which color do you think {the} {be}? | <What color do you think {be} {the}? | <{the} {be} which color?
<{the} {be} of what color?
= What is the color of the tall lamps? -> The tall lamps are what color?

What {be} {the} made of? | What {be} {the} made out of? | What material {be} {the} made of?
{the} {be} made of what? | What material makes up {the}? | What is the material of {the}?
What material was used to make {the}? | <Which material {be} {the} made of? | <Which material makes up {the}?
<What makes up {the}?
= What are the lamps in the hall made of, iron or brass? -> The lamps in the hall are made of what, iron or brass?

What size {be} {the}? | What is the size of {the}? | How big {be} {the}? | How large {be} {the}?
= What size are the lamps? -> How big are the lamps?

What {be} {the} called? | What is the name of {the}? | {the} {be} called what? | <How {be} {the} called?
= How is the tool on the bench called? -> What is the name of the tool on the bench?

What {be} {the}? | >What {be} {the} called? | >What is the name of {the}? | >{the} {be} called what?
named = What are the tools on the bench? -> What are the tools on the bench called?

How {how} {be} {the}? | How {how} do you think {the} {be}?
= How old is the judge? -> How old do you think the judge is?

What {be} {who} {wearing}? | What {do} {who} {wear}? | {who} {be} {wearing} what? | {who} {wears} what?
<What do you think {be} {who} {wearing}?
nameless = What does the judge on the left carry? -> The judge on the left is carrying what?

What {be} {who} {doing}? | {who} {be} {doing} what?
nameless = What is the judge looking at? -> The judge is looking at what?

What {kind} {be} {who} {doing}? | {who} {be} {doing} what {kind}? | <Which {kind} {be} {who} {doing}?
= Which kind of vehicle is the judge riding? -> The judge is riding what kind of vehicle?

Who {be} {wearing} {x}? | Who {wears} {x}? | Who do you think {be} {wearing} {x}?
= Who carries the lamp? -> Who is carrying the lamp?

What {be} {wearing} {x}? | What {wears} {x}? | What do you think {be} {wearing} {x}?
= What wears a saddle? -> What is wearing a saddle?

<Who in {this} {image} is {doing}? | >Who is {doing} in {this} {image}?
= Who in the photo is reading? -> Who is reading in the photo?

Who is {acting}? | Who do you think is {acting}?
= Who is kneeling on the lawn? -> Who do you think is kneeling on the lawn?

What {place} is this? | What {place} is it? | What {place} could this be? | What {place} is shown?
What {place} is pictured? | <Which {place} is this? | <Which {place} is it? | <Which {place} could this be?
= Which room is it? -> What room could this be?

Where was {this} {image} taken? | What place was {this} {image} taken at?
= Where was the photo taken? -> What place was the photo taken at?

What is the weather like? | How is the weather? | <How is the weather today?
= How is the weather, clear or rainy? -> What is the weather like, clear or rainy?

Where {be} {the}? | {the} {be} where? | Where do you think {the} {be}?
= Where are the lamps? -> The lamps are where?

<Do you see {x} there? | {be} there {x}? | Do you see {x}? | Can you see {x}?
= Do you see a lamp to the left of the judge? -> Is there a lamp to the left of the judge?

{be} {the} {sides} {x}? | Do you think {the} {be} {sides} {x}?
= Are the lamps to the left or to the right of the judge? -> Do you think the lamps are to the left or to the right of the judge?

{be} {the} on the {side}? | Do you think {the} {be} on the {side}?
= Are the lamps near the desk on the left? -> Do you think the lamps near the desk are on the left?

{be} {who} {wearing} {x}? | {do} {who} {wear} {x}? | Do you think {who} {be} {wearing} {x}?
= Does the judge on the left wear a gown? -> Is the judge on the left wearing a gown?

<{do} {the} appear to be {x}? | <{do} {the} seem to be {x}? | >{be} {the} {x}? | >Do you think {the} {be} {x}?
= Does the judge appear to be asleep? -> Do you think the judge is asleep?

Is this {a} or {b}? | Is this {b} or {a}?
= Is this a saw or an iron file? -> Is this an iron file or a saw?

{be} {the} {look}? | Do you think {the} {be} {look}? | <{do} {the} look {look}?
= Does the lamp of the judge look red or blue? -> Do you think the lamp of the judge is red or blue?
""")

# Words within a question. A row whose own words the program names (an image on the wall) leaves them alone.
PHRASE_TEMPLATES = parse_templates("""
What {asked} | Which {asked}
= What device is on the desk? -> Which device is on the desk?

what {asked} | which {asked}
= The judge is riding what animal? -> The judge is riding which animal?

{what} kind of | {what} type of
= Which kind of tool is it? -> Which type of tool is it?

piece of {furniture} | item of {furniture}
= What item of furniture is this? -> What piece of furniture is this?

pieces of {furniture} | items of {furniture}
= What pieces of furniture are wooden? -> What items of furniture are wooden?

{clothing} item | piece of {clothing} | item of {clothing} | article of {clothing}
= What clothing item is blue? -> What article of clothing is blue?

{clothing} items | pieces of {clothing} | items of {clothing} | articles of {clothing}
= What are the blue pieces of clothing? -> What are the blue items of clothing?

{of} {this} picture | {of} {this} photo | {of} {this} image | {of} {this} photograph
= Is there a lamp in the picture? -> Is there a lamp in the photograph?

on the {side} side of {the_image} | on the {side} of {the_image}
= Is the lamp on the left side of the photo red? -> Is the lamp on the left of the photo red?

{be} shown | {be} pictured | <{be} presented
= What animals are presented? -> What animals are shown?

{person} that {does} | {person} who {does}
= Is the man that is reading tall? -> Is the man who is reading tall?

{that} {be} {wearing} | {that} {wears}
= Is the man that wears a hat tall? -> Is the man that is wearing a hat tall?

<that {be} {at} | <which {be} {at} | <who {be} {at} | >that {be} {at} | >{at}
= Is the lamp which is on the desk red? -> Is the lamp on the desk red?

to the left or to the right of | to the right or to the left of
= Is the lamp to the left or to the right of the judge? -> Is the lamp to the right or to the left of the judge?

behind or in front of | in front of or behind | <in front or behind
= Is the lamp in front or behind the judge? -> Is the lamp behind or in front of the judge?

<or maybe | >or
= Is it a lamp or maybe a candle? -> Is it a lamp or a candle?

<or is it | >or
= Is the big lamp red or is it blue? -> Is the big lamp red or blue?

{one} or {two}? | {two} or {one}?
= Is the lamp long striped or blue? -> Is the lamp blue or long striped?

{one} and {two}? | {two} and {one}?
= Is the lamp long striped and blue? -> Is the lamp blue and long striped?

, {x} or {y}? | , {y} or {x}?
= What tool is it, a saw or a file? -> What tool is it, a file or a saw?

<What is | >What is | >What's
= What is the judge holding? -> What's the judge holding?

<Who is | >Who is | >Who's
= Who is kneeling? -> Who's kneeling?
""")

# Before all others, so that they need not read it.
CONTRACTION_TEMPLATES = parse_templates("""
<{ask}'s | >{ask} is
= What's on the desk? -> What is on the desk?
""")[0]
