"""Rules by which candidates are dropped: `screen_rules` names all in their order; `screen_faults` has them."""
