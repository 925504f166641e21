"""What predictions of a physician's decisions are made of, one file per idea.

Covariates, decisions and physicians go in; held-out probabilities come out. Candidates that know
nothing of each other compete, and what wins is decided on decisions that none of them saw.
"""
