"""GQA's functional programs: read, their root, how their words are said."""
