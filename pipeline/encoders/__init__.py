"""Pictures and texts to unit vectors: `clip` is the one door to torch and open_clip, `cache` keeps what was encoded."""
