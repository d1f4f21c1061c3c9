"""Read YAML that means the same to all YAML readers.

DVC follows YAML 1.2 and PyYAML follows YAML 1.1. For example, `seed: 010` is 10 in YAML 1.2 and 8 in YAML
1.1. Values on which the two versions differ (`010`, `1e3`, `yes`, `12:30`, dates) are refused, with a message
that names the line. Keys that are not strings are refused, too. So are duplicate keys, because readers
silently keep only the last value of such a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from pipeline.core.errors import UserError, format_count

# Plain values that both versions read in the same way, by type. The patterns are those of
# https://yaml.org/spec/1.2.2/#1032-tag-resolution, limited to numbers that have the same value in both versions.
_PORTABLE_SCALARS = {
    "null": r"null|Null|NULL|~|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+",
    "float": r"[-+]?(0|[1-9][0-9]*)\.[0-9]*([eE][-+][0-9]+)?|\.[0-9]+|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
_NUMBER_1_2 = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
# DVC's reader removes underscores, and fails if nothing is left.
_UNDERSCORES_ONLY = re.compile(r"[-+]?\.?_+")


def parse_yaml(text: str, name: object) -> Any:
    """Return the value of a YAML text.

    Args:
        text: The text, which contains one YAML document.
        name: Name of the file, for messages.

    Raises:
        UserError: The text is not valid YAML, or YAML readers differ on some lines. The message lists all
            such lines.

    Example:
        >>> parse_yaml("seed: 10", "params.yaml")
        {'seed': 10}
    """
    try:
        # The loader in Python is used, because the loader in C crashes on deep nesting.
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            problems = [] if root is None else list(_find_ambiguities(root, set()))
            value = None if root is None or problems else loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise UserError(f"{name}: not valid YAML: {error}") from error
    # A ValueError is raised, for example, for a date that does not exist.
    except (RecursionError, ValueError, OverflowError) as error:
        raise UserError(f"{name}: not valid YAML: {type(error).__name__}: {error}") from error
    if problems:
        raise UserError([f"{name}: {format_count(len(problems), 'problem')}", *problems])
    return value


def _find_ambiguities(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    """Yield a message for each value and key on which YAML readers differ, in the order of the text.

    Args:
        node: The node to search.
        seen: Ids (`id(node)`) of the nodes that were searched already. Searched nodes are added.
    """
    # An alias leads to a node that was searched already.
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode) and _SURROGATE.search(node.value):
        yield (
            f"line {node.start_mark.line + 1}: {node.value[:80]!a} contains half of a character (a lone surrogate), which no "
            "file can store; write it as one character"
        )
    elif isinstance(node, yaml.ScalarNode) and not _is_portable(node):
        yield (
            f"line {node.start_mark.line + 1}: {node.value} does not mean the same to all YAML readers; write numbers in plain "
            "digits (10, 0.001), switches as true or false, and texts in quotes"
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
                shown = key.value if isinstance(key, yaml.ScalarNode) else "in brackets"
                yield f"{where}: the key {shown} is not a string; put it in quotes"
            elif key.value in keys:
                yield f"{where}: the key {key.value} occurs twice; keep one"
            else:
                keys.add(key.value)
            yield from _find_ambiguities(value, seen)


_STRING_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")


def _is_portable(node: yaml.ScalarNode) -> bool:
    """Report whether a value means the same in both versions of YAML. This is true for all quoted values."""
    if node.style is not None:
        return True
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if kind == "str":
        return not (
            _NUMBER_1_2.fullmatch(node.value.replace("_", "")) or _UNDERSCORES_ONLY.fullmatch(node.value)
        )
    return bool(kind in _PORTABLE_SCALARS and re.fullmatch(_PORTABLE_SCALARS[kind], node.value))
