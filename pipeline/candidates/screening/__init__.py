"""Drop candidates by rules.

`screen_rules` lists the rules in order. `screen_checks` and `grammar` implement the rules.
"""
