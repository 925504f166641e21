"""The logistic model with a random intercept per physician, by variational Bayes."""
