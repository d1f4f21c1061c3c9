"""Commands of `rgqa` that belong to no other package."""
