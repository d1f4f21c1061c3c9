"""The secret part of an address that lets somebody in: worked out of the server's key, and kept nowhere. Our Python and Label
Studio's both run this."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import digest


def secret_of(key: str, whom: str) -> str:
    """For an annotator's e-mail address, or a data set's volunteers (`VOLUNTEERS` before its name).

    >>> len(secret_of("key", "ann@rgqa.local"))  # 32 bytes in base 64
    43
    """
    return urlsafe_b64encode(digest(key.encode(), f"rgqa desk {whom}".encode(), sha256)).decode().rstrip("=")


VOLUNTEERS = "volunteers of "
