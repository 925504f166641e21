"""Pages that open offline: of a study, and of a measurement."""
