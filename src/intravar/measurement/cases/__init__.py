"""Decisions that show scores at work: pairs of comparable patients, cases, and their tables."""
