"""From a table as it is to covariates, decisions and physicians."""
