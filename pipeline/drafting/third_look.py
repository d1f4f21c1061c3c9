"""Settle doubtful objects by the model's reply to a part of the image."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from pipeline.drafting.json_replies import read_json_reply
from pipeline.drafting.look_reader import DraftObject, DraftQuestion, clean_name
from pipeline.language.nouns import lemmatize
from pipeline.language.object_taxonomy import get_kinds
from pipeline.language.similarity import get_similarity_keys, is_same_visual_concept
from pipeline.language.text_phrases import get_attribute_type

# Maximum number of objects of an image that are looked at again. The others are left out.
MAX_CROPS = 10
CROP_KEYS = ("name", "attributes")


class Settled(NamedTuple):
    """What a look at one object says.

    Attributes:
        reason: Why the object is left out; "" if it is confirmed.
        detail: What the model called it.
        wrong_attributes: Attributes that the look contradicts.
    """

    reason: str
    detail: str = ""
    wrong_attributes: tuple[str, ...] = ()


def find_doubtful_objects(
    objects: Iterable[DraftObject], contested: Iterable[DraftQuestion]
) -> list[DraftObject]:
    """Return the objects to look at again: those of which the model was not sure, and those of contested questions.

    Args:
        objects: The objects of an image.
        contested: The questions about it that the model answered differently or not at all.
    """
    doubted = {key for question in contested for key in question.object_ids}
    found = [obj for obj in objects if not obj.is_sure or obj.object_id in doubted]
    return sorted(found, key=lambda obj: obj.is_sure)


def settle_object(obj: DraftObject, reply: str) -> Settled:
    """Compare an object with the reply to a look at it.

    >>> cup = DraftObject(object_id="1", name="mug", box=(0, 0, 9, 9), attributes=("red", "shiny"))
    >>> settle_object(cup, '{"name": "cup", "attributes": ["blue"]}')
    Settled(reason='', detail='cup', wrong_attributes=('red',))
    >>> settle_object(cup, '{"name": "hat", "attributes": []}').reason
    'another object in the third look'
    """
    found = read_json_reply(reply, CROP_KEYS)
    name = clean_name(found.value.get("name"))
    if not name:
        return Settled("no usable reply in the third look", found.fault)
    if not is_same_object(obj.name, name):
        return Settled("another object in the third look", name)
    listed = found.value.get("attributes")
    seen = [clean_name(row) for row in listed] if isinstance(listed, list) else []
    return Settled("", name, tuple(one for one in obj.attributes if is_contradicted(one, seen)))


def is_same_object(one: str, other: str) -> bool:
    """Return whether two names can mean the same object: synonyms, or a kind and its member.

    >>> is_same_object("man", "person"), is_same_object("dog", "cat")
    (True, False)
    """
    one, other = lemmatize(one), lemmatize(other)
    return (
        bool(get_similarity_keys(one) & get_similarity_keys(other))
        or one in get_kinds(other)
        or other in get_kinds(one)
    )


def is_contradicted(attribute: str, seen: Collection[str]) -> bool:
    """Return whether other attributes of the same type contradict an attribute.

    >>> is_contradicted("red", ["blue", "shiny"]), is_contradicted("red", ["shiny"]), is_contradicted("gray", ["silver"])
    (True, False, False)
    """
    type_ = get_attribute_type(attribute)
    others = [one for one in seen if one and get_attribute_type(one) == type_]
    return bool(type_ and others) and not any(is_same_visual_concept(attribute, one) for one in others)
