"""Distances between the patients of a panel, and pairs made of them."""
