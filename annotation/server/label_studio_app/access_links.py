"""The secret part of an address that lets somebody in: worked out of the server's key, and kept nowhere. Our Python and Label
Studio's both run this."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import digest


def derive_secret(key: str, subject: str) -> str:
    """For an annotator (see `link_of`), or a data set's volunteers (`VOLUNTEERS` before its name).

    >>> len(secret_of("key", "ann@rgqa.local"))  # 32 bytes in base 64
    43
    """
    return (
        urlsafe_b64encode(digest(key.encode(), f"rgqa desk {subject}".encode(), sha256)).decode().rstrip("=")
    )


def derive_annotator_secret(key: str, email: str, pseudonym: str) -> str:
    """For an annotator: never the same for two, though one has the name of another who was forgotten. Their pseudonyms differ; a
    volunteer, who has none yet, has a random part in the address.

    >>> link_of("key", "ann@rgqa.local", "annotator-01") == link_of("key", "ann@rgqa.local", "annotator-02")
    False
    """
    return derive_secret(key, email if email.endswith(VOLUNTEER_EMAIL_SUFFIX) else f"{email} {pseudonym}")


OPEN_LINK_PREFIX = "volunteers of "
VOLUNTEER_EMAIL_SUFFIX = "@volunteer.rgqa.local"  # ends the address of who came by the open link
