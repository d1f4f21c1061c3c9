"""How probably a candidate has an answer at its picture after all, and how hard it is to see that it has none."""
