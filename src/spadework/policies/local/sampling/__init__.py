"""Sampling replies: many conversations in one batch, with what they share computed once."""
