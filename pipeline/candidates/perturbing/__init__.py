"""Edit questions so that something they presuppose is no longer true of their image.

`edit_slots` finds the words that may be replaced without changing what the question asks for. `object_table`,
`plausibility`, `replacements` and `raking` choose the replacement. `surface_realization` rewrites the text
and the program. `object_edits` and `attribute_edits` are the kinds of edits, and `edit_kinds` lists them.
`plain_questions` edits questions without programs and scene graphs: objects (`plain_object_slots`, `plain_objects`, `plain_fitness`),
people (`plain_people`), attributes (`plain_attribute_slots`, `plain_attributes`, `plain_materials`) and positions
(`plain_positions`). All of them use `plain_context`. `contrasts` lists what may replace what there.
`paper_rules` edits questions by the rules of RGQA. `perturb_image` edits all questions of one image.
"""
