"""Sets of questions with two labels, in whatever format they come: reading them for `rgqa audit`, and their largest balanced subset."""
