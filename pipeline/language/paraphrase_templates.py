"""The templates of the paraphraser, and how they match a text.

The templates of a group mean the same, and a text that matches one template may be rewritten as any other
template of the group. The authors of this project wrote the templates; all of their wordings occur in GQA's
questions. A template that begins with `<` is matched but never written, because its wording is rare or odd. A
template that begins with `>` is written but never matched, because its parts cannot be separated. A group
ends with an example. The word "nameless" before the example means that the group applies only if the program
has no name for what the question asks for ("What is the man wearing?"). The word "named" means that the group
applies only if the program has such a name.

    {the}   a phrase that starts with the, this, her ...    {who}   the same, or he, she, it, they
    {x} {y} anything up to a comma                          {a} {b} a or an, and up to three words
    {kind}  what is asked for: color, kind of furniture     {acting}    standing ..., in front of ...
    {be} {do} {have}    is, does, has; or are, do, have, by the number of the subject
    {wear} {wears} {wearing}    a form of a verb of ACTION_VERBS; {wears} is "wear" for a plural
    {option}    the same as {x}, but not the start of a clause   {not_it} {not_of} {not_name}    such a word does not follow
    {noun}  one word that is no verb form of "be"
    {look} {one} {two}  the values that the program verifies or offers: red, red or blue, red and large

Any other name in braces stands for one word or phrase of the list PLACEHOLDER_WORDS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from pipeline.language.relations import PREPOSITIONS
from pipeline.language.word_lists import DEFINITE_DETERMINERS, parse_groups, parse_words


class TemplateGroup(NamedTuple):
    """Templates that mean the same.

    Attributes:
        templates: The templates.
        example: A text that matches the group.
        example_paraphrase: A possible paraphrase of the example.
        is_nameless: True if the group applies only if the program has no name for what the question asks for,
            False if the group applies only if the program has such a name, None if it applies in both cases.
    """

    templates: tuple[str, ...]
    example: str
    example_paraphrase: str
    is_nameless: bool | None


def parse_templates(table: str) -> tuple[TemplateGroup, ...]:
    r"""Parse a table of templates.

    Empty lines separate groups, and `|` or the end of a line separates templates.

    >>> (group,) = parse_templates("a lamp | a light\n= Is it a lamp? -> Is it a light?")
    >>> group.templates, group.example, group.example_paraphrase
    (('a lamp', 'a light'), 'Is it a lamp?', 'Is it a light?')
    """
    groups = []
    for block in table.strip().split("\n\n"):
        *lines, example = block.split("\n")
        condition, _, example = example.partition("= ")
        text, _, paraphrase = example.partition(" -> ")
        templates = tuple(template for line in lines for template in line.split(" | "))
        is_nameless = {"nameless ": True, "named ": False}.get(condition)
        groups.append(TemplateGroup(templates, text, paraphrase, is_nameless))
    return tuple(groups)


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
    "position": "behind, beside, under, underneath, beneath, below, above, near, by, around, against, next to, on, in, at, with",
    "quality": "color, size, shape, length, height, width",
    "second_quality": "color, size, shape, length, height, width",
    "plural": "animals, pieces, items, articles, vehicles, devices, fruits, vegetables",
    "how": "tall, long, old, clean, wide, thick, deep, fat, heavy",
    "asked": """
        color, material, kind, type, animal, animals, place, room, piece, pieces, item, items, article, articles, clothing,
        vehicle, vehicles, device, devices, food, fruit, fruits, vegetable, vegetables, drink, dessert, furniture, appliance,
        utensil, side, part, shape
    """,
    "doing": """
        wearing, holding, carrying, doing, riding, eating, playing, playing with, using, reading, watching, looking at,
        sitting on, sitting in, standing on, standing in, standing near, lying on, leaning on, leaning against, pulling,
        throwing, kicking, swinging, drinking, catching, jumping over, walking on, on, in, under, near, behind, in front of
    """,
}

# Templates of whole questions. The text after a comma ("..., red or blue?") stays at the end. The first group
# that matches is used.
QUESTION_TEMPLATES = parse_templates("""
What color {be} {the}? | Which color {be} {the}? | Of what color {be} {the}? | Of which color {be} {the}?
What color {do} {the} have? | {the} {have} what color? | {the} {be} what color?
What color do you think {the} {be}? | What is the color of {the}? | <Which color {do} {the} have?
<Which color do you think {the} {be}? | <What color do you think {be} {the}?
<Which color do you think {be} {the}? | <{the} {be} which color? | <{the} {be} of what color?
= What is the color of the tall lamps? -> The tall lamps are what color?

What {be} {the} made of? | What {be} {the} made out of? | What material {be} {the} made of?
{the} {be} made of what? | What material makes up {the}? | What is the material of {the}?
What material was used to make {the}? | <Which material {be} {the} made of? | <Which material makes up {the}?
<What makes up {the}?
= What are the lamps in the hall made of, iron or brass? -> The lamps in the hall are made of what, iron or brass?

What size {be} {the}? | What is the size of {the}? | How big {be} {the}? | How large {be} {the}?
<Which size {be} {the}?
= What size are the lamps? -> How big are the lamps?

What {be} {the} called? | What is the name of {the}? | {the} {be} called what? | <How {be} {the} called? | <How {the} {be} called?
= How is the tool on the bench called? -> What is the name of the tool on the bench?

What {be} {not_name}{the}? | >What {be} {the} called? | >What is the name of {the}? | >{the} {be} called what?
named = What are the tools on the bench? -> What are the tools on the bench called?

How {how} {be} {the}? | How {how} do you think {the} {be}?
= How old is the judge? -> How old do you think the judge is?

What {be} {who} {wearing}? | What {do} {who} {wear}? | {who} {be} {wearing} what? | {who} {wears} what?
<What do you think {be} {who} {wearing}?
nameless = What does the judge on the left carry? -> The judge on the left is carrying what?

What {be} {who} {doing}? | {who} {be} {doing} what? | <What do you think {be} {who} {doing}?
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
= Are the lamps near the table on the left? -> Do you think the lamps near the table are on the left?

{be} {who} {wearing} {x}? | {do} {who} {wear} {x}? | Do you think {who} {be} {wearing} {x}?
= Does the judge on the left wear a gown? -> Is the judge on the left wearing a gown?

<{do} {the} appear to be {x}? | <{do} {the} seem to be {x}? | >{be} {the} {x}? | >Do you think {the} {be} {x}?
= Does the judge appear to be asleep? -> Do you think the judge is asleep?

<{do} {the} have {one} {quality} and {two} {second_quality}? | >{be} {the} {one} and {two}?
>Do you think {the} {be} {one} and {two}?
= Does the lamp have red color and blue shape? -> Is the lamp red and blue?

<{do} {the} have {look} {quality}? | >{be} {the} {look}? | >Do you think {the} {be} {look}?
= Do the lamps have red or blue color? -> Are the lamps red or blue?

Is this {a} or {b}? | Is this {b} or {a}?
= Is this a saw or an iron file? -> Is this an iron file or a saw?

{be} {the} {look}? | Do you think {the} {be} {look}? | <{do} {the} look {look}?
= Does the lamp of the judge look red or blue? -> Do you think the lamp of the judge is red or blue?
""")

# Templates of phrases within a question. A group is not used if the program names one of its words, such as
# "picture" for a picture on the wall.
PHRASE_TEMPLATES = parse_templates("""
What {asked} | Which {asked}
= What device is on the table? -> Which device is on the table?

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
= Is the lamp which is on the table red? -> Is the lamp on the table red?

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

, {option} or {second_option}? | , {second_option} or {option}?
= What tool is it, a saw or a file? -> What tool is it, a file or a saw?

<What is{not_it} | >What is{not_it} | >What's{not_it}
= What is the judge holding? -> What's the judge holding?

<Who is{not_it} | >Who is{not_it} | >Who's{not_it}
= Who is kneeling? -> Who's kneeling?
""")

# Templates that are applied first. So the other templates need not match contractions, and the mistakes of GQA's
# questions ("the man that to the left of", "the cat the fence is behind of") are corrected before a phrase moves.
CORRECTION_TEMPLATES = parse_templates("""
<{ask}'s | >{ask} is
= What's on the table? -> What is on the table?

<{noun} {that} to the {side} of | >{noun} to the {side} of
= What does the man that to the left of the clock hold? -> What does the man to the left of the clock hold?

<{position} of | >{position}
= What color is the cat the fence is behind of? -> What color is the cat the fence is behind?

<this {plural} | >these {plural}
= How are this animals called? -> How are these animals called?

<{plural} are it? | >{plural} are these?
= What animals are it? -> What animals are these?

<there either{not_of} | >there{not_of}
= Is there either any cow or fence? -> Is there any cow or fence?

<see either{not_of} | >see{not_of}
= Do you see either a mouse or a laptop? -> Do you see a mouse or a laptop?
""")

# PLACEHOLDER_PATTERN matches every placeholder, PROGRAM_PLACEHOLDER_PATTERN only those that stand for values
# of the program.
PLACEHOLDER_PATTERN = re.compile(r"\{(\w+)\}")
PROGRAM_PLACEHOLDER_PATTERN = re.compile(r"\{(look|one|two)\}")
# The singular and the plural form of each auxiliary verb.
AUXILIARY_FORMS = {"be": ("is", "are"), "do": ("does", "do"), "have": ("has", "have")}
_CLAUSE_STARTS = parse_words(
    "is, are, was, were, do, does, did, can, could, has, have, would, should, will, what, which, where, who, how, why, if, and, or"
)
VERB_PLACEHOLDERS = ("wear", "wears", "wearing")
PERSONAL_PRONOUNS = parse_words("he, she, it, they")


@cache
def get_literals(template: str) -> tuple[str, ...]:
    """Return the parts of a template that every match contains as they are.

    >>> get_literals("How big {be} {the}?")
    ('How big ', ' ')
    """
    parts = PLACEHOLDER_PATTERN.split(template.lstrip("<>"))[::2]
    return tuple(literal for part in parts if (literal := part.removesuffix("?")))


@lru_cache(maxsize=1 << 14)
def compile_template(template: str, options: tuple[str, ...], is_full_match: bool) -> re.Pattern[str] | None:
    """Compile a template to a regular expression.

    Args:
        template: The template, without `<` or `>`.
        options: The values that the program verifies or offers as a choice.
        is_full_match: Whether the template has to match a whole question, not only a part of the question.

    Returns:
        The expression, with a named group for each placeholder; None if the program has too few values for
        the placeholders of the template.

    >>> compile_template("How big {be} {the}?", (), True).fullmatch("How big is the cup?").groupdict()
    {'be': 'is', 'the': 'the cup', 'tail': None}
    """
    parts = PLACEHOLDER_PATTERN.split(template)
    needed = max(("look" in parts) * 1, ("one" in parts) * 2)
    if len(options) < needed:
        return None
    filled = "".join(
        f"(?P<{part}>{_get_placeholder_regex(part, options)})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    if is_full_match:
        return re.compile(filled.removesuffix(re.escape("?")) + r"(?P<tail>, [^,?]+ or [^,?]+)?\?")
    before, after = r"(?<![\w'-])" * (template[0] != ","), r"(?![\w'-])" * (template[-1] != "?")
    return re.compile(before + filled + after)


def _get_placeholder_regex(name: str, options: tuple[str, ...]) -> str:
    """Return the regular expression of a placeholder, which matches any letter case and as few words as
    possible.
    """
    either = [*options] if len(options) == 1 else []
    for pair in (options, options[::-1]):
        either += [" or ".join(pair), " and ".join(pair)]
        either += ["either " + " or ".join(pair), "both " + " and ".join(pair)]
    some = r"(?:a|an)(?: (?!of )[\w-]+){1,3}?"
    a_kind = (
        rf"{_join_alternatives(parse_groups(PLACEHOLDER_WORDS['asked'])[0])}(?: items?| of (?:\w+ )?\w+)?"
    )
    return {
        "the": rf"{_join_alternatives(DEFINITE_DETERMINERS)} [^,?]+?",
        "who": rf"(?:{_join_alternatives(DEFINITE_DETERMINERS)} [^,?]+?|{_join_alternatives(PERSONAL_PRONOUNS)})",
        "a": some,
        "b": some,
        "x": r"[^,?]+?",
        "y": r"[^,?]+?",
        # "What is that to the left of the cup?" has no relative pronoun.
        "noun": r"(?!(?i:is|are|was|what|which)\b)\w+",
        # "In this photo, is the man sitting or standing?" offers no two options after its comma.
        "option": rf"(?!{_join_alternatives(_CLAUSE_STARTS)}\b)[^,?]+?",
        "second_option": rf"(?!{_join_alternatives(_CLAUSE_STARTS)}\b)[^,?]+?",
        "not_name": r"(?!\w+ (?i:names?)\b)",
        "not_it": r"(?! (?i:it|he|they)\?)",
        "not_of": r"(?! of\b)",
        "acting": rf"(?:\w+ing\b|{_join_alternatives(PREPOSITIONS)} )[^,?]*?",
        "kind": f"(?i:{a_kind})",
        "the_image": " ".join(
            _join_alternatives(parse_groups(PLACEHOLDER_WORDS[name])[0]) for name in ("this", "image")
        ),
        "look": _join_alternatives(either),
        "one": _join_alternatives(options),
        "two": _join_alternatives(options),
        **{name: _join_alternatives(pair) for name, pair in AUXILIARY_FORMS.items()},
        "wear": _join_alternatives(verb[0] for verb in ACTION_VERBS),
        "wears": _join_alternatives(form for verb in ACTION_VERBS for form in verb[:2]),
        "wearing": _join_alternatives(verb[2] for verb in ACTION_VERBS),
        **{
            name: _join_alternatives(part for group in parse_groups(text) for part in group)
            for name, text in PLACEHOLDER_WORDS.items()
        },
    }[name]


def _join_alternatives(phrases: Iterable[str]) -> str:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return f"(?i:{'|'.join(map(re.escape, longest_first))})"
