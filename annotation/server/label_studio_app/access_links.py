"""Derive the secret part of login links from the secret key of the server.

The secrets of links are not stored anywhere.

The module runs in our Python environment and in Label Studio's Python environment.
"""

from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import digest


def derive_secret(key: str, subject: str) -> str:
    """Return the secret for an annotator (`derive_annotator_secret`) or an open link (`OPEN_LINK_PREFIX` and
    the data set).

    The secret is 32 bytes in base 64:

    >>> len(derive_secret("key", "ann@rgqa.local"))
    43
    """
    # The text "rgqa desk" must not change, because existing links depend on it.
    return (
        urlsafe_b64encode(digest(key.encode(), f"rgqa desk {subject}".encode(), sha256)).decode().rstrip("=")
    )


def derive_annotator_secret(key: str, email: str, pseudonym: str) -> str:
    """Return the secret of a personal link. Two people never get the same secret.

    An invited person can have the same e-mail address as an earlier person whose data was erased, but not the
    same pseudonym. A volunteer has no pseudonym yet, but has a random part in the e-mail address.

    >>> links = [derive_annotator_secret("key", "ann@rgqa.local", f"annotator-0{number}") for number in (1, 2)]
    >>> links[0] == links[1]
    False
    """
    return derive_secret(key, email if email.endswith(VOLUNTEER_EMAIL_SUFFIX) else f"{email} {pseudonym}")


OPEN_LINK_PREFIX = "volunteers of "
# The domain of the e-mail addresses of volunteers.
VOLUNTEER_EMAIL_SUFFIX = "@volunteer.rgqa.local"
