"""Edit a question so that what it takes for granted is no longer true. `edit_kinds` names all kinds of edits.

objects, replacements and raking (what is put in), slots (what may be replaced without touching what is asked), fitting
(how that is said, text and program afterwards), thing_edits and look_edits (the kinds of edits), blind (the paper's rule),
perturb_image (all of it for one image).
"""
