"""Sets of other authors: read, asked and scored as their authors do."""
