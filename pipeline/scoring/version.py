"""The version of the scorers. Every report states the version."""

VERSION = "1.5.0"
