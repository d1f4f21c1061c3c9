"""Names on the Hugging Face Hub in a command line: `hub:OWNER/NAME@REVISION:PATH` in place of a release or a public set."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.errors import UserError


def resolve_hub_arguments(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with each name on the hub replaced by the local copy of what it names.

    What is not there yet is fetched. The checksums of releases are compared.

    Raises:
        UserError: A name is wrong, or cannot be fetched, or a release differs from what was published. All problems are listed.
    """
    from pipeline.benchmark.release.check_release import CHECKSUMS_FILE, check_checksums
    from pipeline.core.errors import collect_errors
    from pipeline.public_sets.hub_sets import PREFIX, fetch_if_on_hub

    problems: list[str] = []
    resolved = list(words)
    for i, word in enumerate(words):
        # "--release=hub:OWNER/NAME"
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        # A text, such as the reason of an erratum, may begin like a name, but has spaces.
        if value.startswith(PREFIX) and len(value.split()) == 1:
            with collect_errors(problems):
                path = fetch_if_on_hub(value)
                if (path / CHECKSUMS_FILE).is_file():
                    check_checksums(path)
                resolved[i] = f"{option}{equals}{path}"
    if problems:
        raise UserError(problems)
    return resolved
