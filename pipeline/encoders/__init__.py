"""Pictures and texts to numbers: `clip` is the only module that imports open_clip, `embedding` keeps what was encoded."""
