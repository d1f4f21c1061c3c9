"""GQA's functional programs: read, their root, how their words are said, and what a question takes for granted."""
