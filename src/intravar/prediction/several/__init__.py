"""Several decisions of one physician: predictions that inform each other, and joint bounds."""
