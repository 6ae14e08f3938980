"""Families of tasks as data, and the lessons that rules make of them: documents, programs, hints and plays."""
