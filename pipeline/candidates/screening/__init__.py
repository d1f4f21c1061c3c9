"""Drop candidates by rules: `screen_rules` lists all rules in their order, `screen_faults` implements them."""
