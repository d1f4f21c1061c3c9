"""Speed and memory of the hot paths, each against a named peer or a physical limit."""
