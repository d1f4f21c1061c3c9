"""Rules by which candidates are dropped: `screen_rules` names all rules in their order; each stands in the module of its reason."""
