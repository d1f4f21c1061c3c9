"""The version of the scorers, which every report states."""

VERSION = "1.5.0"
