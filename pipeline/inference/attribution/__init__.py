"""Show which parts of an image a model used for its answer (`rgqa attribute`)."""
