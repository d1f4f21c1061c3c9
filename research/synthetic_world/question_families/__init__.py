"""Families of questions, by what they ask about. Each function proposes a question, or None if it finds none."""
