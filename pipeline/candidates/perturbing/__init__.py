"""Edit questions so that something they presuppose is no longer true of their image.

`edit_slots` finds what may be replaced without touching what is asked. `object_table`, `plausibility`, `replacements` and `raking` choose
the replacement, and `surface_realization` rewrites text and program. `object_edits` and `attribute_edits` are the kinds of edits, which
`edit_kinds` lists. `paper_rules` edits as RGQA did. `perturb_image` applies all of it to one image.
"""
