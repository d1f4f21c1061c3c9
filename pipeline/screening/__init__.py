"""What screen is made of: `form` finds fault with a question itself, `wording` with its grammar, `claims` with what it
asks of its picture."""
