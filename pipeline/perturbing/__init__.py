"""What perturb is made of: alignment (where program steps stand in the text), slots (what may be replaced without
touching what is asked), replacements (what by), blind (the paper's rule), rewriting (the sentence afterwards)."""
