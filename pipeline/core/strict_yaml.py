"""YAML that every reader reads alike: DVC goes by version 1.2 of it, PyYAML by 1.1, and `seed: 010` is 10 to one and 8 to the other.

Where the two differ (`010`, `1e3`, `yes`, `12:30`, a date) the text is refused with its line, and so is a key that is no
text or stands there twice, of which readers keep the last one silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from pipeline.core.errors import UserError

# https://yaml.org/spec/1.2.2/#1032-tag-resolution, of numbers those that both versions read, and as the same number
_PORTABLE_SCALARS = {
    "null": r"null|Null|NULL|~|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+",
    "float": r"[-+]?(0|[1-9][0-9]*)\.[0-9]*([eE][-+][0-9]+)?|\.[0-9]+|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
_NUMBER_1_2 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
# DVC's reader passes over underscores, and stumbles where nothing is left.
_UNDERSCORES_ONLY = re.compile(r"[-+]?\.?_+")


def parse_yaml(text: str, name: object) -> Any:
    """The one value of a YAML text.

    Args:
        name: how messages call the file.

    Raises:
        UserError: it is no YAML, or readers of YAML would not agree on it: all such places, with their lines.
    """
    try:
        loader = yaml.SafeLoader(text)  # not the one in C, which deep nesting kills
        try:
            root = loader.get_single_node()
            faults = [] if root is None else list(_find_ambiguities(root, set()))
            value = None if root is None or faults else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise UserError(f"{name}: not valid YAML: {error}") from error
    except (RecursionError, ValueError, OverflowError) as error:  # of a date that there is not, and the like
        raise UserError(f"{name}: not valid YAML: {type(error).__name__}: {error}") from error
    if faults:
        noun = "problem" if len(faults) == 1 else "problems"
        raise UserError([f"{name}: {len(faults)} {noun}", *faults])
    return value


def _find_ambiguities(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    """What readers would not agree on, in the order of the text."""
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode) and _SURROGATE.search(node.value):
        yield (
            f"line {node.start_mark.line + 1}: {node.value[:80]!a} holds half of a character (a lone surrogate), which no "
            "file can hold; write it as one character"
        )
    elif isinstance(node, yaml.ScalarNode) and not _is_portable(node):
        yield (
            f"line {node.start_mark.line + 1}: {node.value} is not the same to all readers of YAML; write a number in plain "
            "digits (10, 0.001), true or false for a switch, and in quotes what is a text"
        )
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _find_ambiguities(child, seen)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and _SURROGATE.search(key.value):
                yield from _find_ambiguities(key, seen)
                continue
            where = f"line {key.start_mark.line + 1}"
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _STRING_TAGS:
                said = key.value if isinstance(key, yaml.ScalarNode) else "in brackets"
                yield f"{where}: the key {said} is no text; put it in quotes"
            elif key.value in keys:
                yield f"{where}: the key {key.value} is there twice; keep one"
            else:
                keys.add(key.value)
            yield from _find_ambiguities(value, seen)


_STRING_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")


def _is_portable(node: yaml.ScalarNode) -> bool:
    """Whether a value means the same to both versions; what stands in quotes always does."""
    if node.style is not None:
        return True
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if kind == "str":
        return not (
            _NUMBER_1_2.fullmatch(node.value.replace("_", "")) or _UNDERSCORES_ONLY.fullmatch(node.value)
        )
    return bool(kind in _PORTABLE_SCALARS and re.fullmatch(_PORTABLE_SCALARS[kind], node.value))
