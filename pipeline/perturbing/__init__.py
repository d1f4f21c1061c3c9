"""Edit a question so that what it takes for granted is no longer true. `edit_kinds` names all kinds of edits.

slots (what may be replaced without touching what is asked), demands (what the rest says of it), objects, plausible,
replacements and raking (what by), fitting (how that is said), thing_edits, look_edits, negation and middle (the kinds of
edits), blind (the paper's rule), rewriting (text and program afterwards), perturb_picture (all of it for one picture).
"""
