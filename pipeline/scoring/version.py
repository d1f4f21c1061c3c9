"""The version of these scorers; every report states it."""

VERSION = "1.5.0"
