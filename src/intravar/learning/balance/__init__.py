"""Weights under which treated patients and their nearest controls are alike."""
