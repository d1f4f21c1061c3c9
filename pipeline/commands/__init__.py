"""What the commands of `rgqa` do that belong to no other room."""
