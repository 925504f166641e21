"""From prepared patients to what is said about each physician."""
