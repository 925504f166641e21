"""What a method learns from the cohort before it compares patients."""
