"""From a table of patients to what can be said about each physician."""
