"""Synonyms and kinds of everyday things: `table` reads them, `derive` makes them out of WordNet."""
