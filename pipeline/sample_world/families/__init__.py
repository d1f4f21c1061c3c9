"""Families of questions, by what they ask about. Each function draws one question, or None if the scene has none."""
