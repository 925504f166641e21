"""One page for one decider, for that decider alone."""
