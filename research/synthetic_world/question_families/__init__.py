"""Families of questions, grouped by what they ask about.

Each public function proposes a question about a scene, or returns None if it finds no suitable question.
"""
