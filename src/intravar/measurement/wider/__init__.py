"""What few measurements ask for: many more patients, several decisions, subgroups, periods."""
