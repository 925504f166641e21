"""What may be handed on of a measurement, and how it is kept."""
