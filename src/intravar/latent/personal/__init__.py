"""Rules of their own: physicians who weigh patients differently, told from inconsistent ones.

Two families of rules compete with the rule that all share: weighted sums with personal weights,
drawn from camps (:mod:`~intravar.latent.personal.weights`), and conjunctions or disjunctions
of two personal limits (:mod:`~intravar.latent.personal.limits`). Both keep the whole
posterior: what is unsure about a physician's rule is in the interval of the rates.
"""
