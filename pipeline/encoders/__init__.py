"""Pictures and texts to numbers: `clip` is the one door to open_clip, `embedding` keeps what was encoded."""
