"""What screen is made of: `form` finds fault with a question itself, `claims` with what it asks of its
picture."""
