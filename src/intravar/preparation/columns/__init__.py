"""What covariates hold, how they become numbers, and which must be asked about."""
