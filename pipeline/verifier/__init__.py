"""What scene graphs and programs tell of names, attributes and relations, counted for the vocabulary."""
