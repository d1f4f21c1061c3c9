"""The same question in other words, so that nobody knows a source's question by its wording."""
