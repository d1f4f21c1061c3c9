"""Speed and memory of the hot paths, each compared with an existing library or with a lower bound such as the bare matrix product."""
