"""Let vision models judge annotation tasks as annotators do (`rgqa annotate panel`)."""
