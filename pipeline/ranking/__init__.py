"""Which questions may be asked of which picture, how similar they are, and which pairs are proposed."""
