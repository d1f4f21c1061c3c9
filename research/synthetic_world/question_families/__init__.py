"""Families of questions, by what they ask about. Each function draws a question; None if it found none."""
