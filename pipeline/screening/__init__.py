"""What screen is made of: `screen_rules` names all rules in their order; each stands in the module of its reason."""
