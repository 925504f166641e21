"""How sure a score is: intervals, shrinkage, reliability and ranks, for any profile."""
