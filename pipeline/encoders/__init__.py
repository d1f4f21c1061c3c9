"""Pictures and texts to unit vectors: `clip` is the one door to open_clip, `embedding` keeps what was encoded."""
