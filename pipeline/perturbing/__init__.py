"""What perturb is made of.

sentence (a text as tokens), spelling (how a program's words may be said), alignment (where they stand), slots
(what may be replaced without touching what is asked), demands and sense (what the rest says of it), objects,
plausible and replacements (what by), fitting, negation and middle (how that is said), swaps (all of it for one
question), blind (the paper's rule), rewriting.
"""
