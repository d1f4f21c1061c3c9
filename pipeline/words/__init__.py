"""The one place that knows words: number, forms, opposites, likeness, kinds, relations, taggers."""
