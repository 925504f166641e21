"""What the columns of a table hold, wherever it was kept: one meaning for every source."""
