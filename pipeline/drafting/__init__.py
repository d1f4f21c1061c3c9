"""Draft questions and scene graphs of photographs with a vision model (`rgqa draft`)."""
