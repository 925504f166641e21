"""The latent rule: who is eligible as physicians' decisions show it, and how each follows it."""
