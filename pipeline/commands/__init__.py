"""Commands of `rgqa` that belong to no other room."""
