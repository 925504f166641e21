"""Gaussian mixtures of patients: latent profiles, fitted many starts at a time."""
