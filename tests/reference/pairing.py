"""Algorithm 1, line by line, with SciPy's solver. Slow, plain, and right by inspection."""

import networkx
import numpy as np
from scipy.optimize import linear_sum_assignment


def candidate_edges(sigma):
    """The undirected candidate set of an assignment."""
    return {(min(i, int(j)), max(i, int(j))) for i, j in enumerate(sigma)}


def assignment(distances):
    """Step 3: the assignment with an infinite diagonal."""
    barred = np.array(distances, dtype=float)
    np.fill_diagonal(barred, np.inf)
    return linear_sum_assignment(barred)[1]


def caliper(distances):
    """Step 2: the 25th percentile of the entries above the diagonal."""
    return np.percentile(np.asarray(distances)[np.triu_indices(len(distances), k=1)], 25)


def pair(distances, sigma=None):
    """Return the pairs of Algorithm 1; ``sigma`` replaces the solver where optima are tied."""
    distances = np.asarray(distances, dtype=float)
    limit = caliper(distances)
    sigma = assignment(distances) if sigma is None else sigma
    candidates = set()
    for i in range(len(distances)):
        a, b = min(i, int(sigma[i])), max(i, int(sigma[i]))
        w = distances[a, b]
        if a != b and np.isfinite(w) and w <= limit:
            candidates.add((w, (a, b)))
    pairs = []
    used = set()
    for _, (a, b) in sorted(candidates):
        if a in used or b in used:
            continue
        pairs.append((a, b))
        used |= {a, b}
    return pairs


def greedy(distances):
    """All pairs within the caliper by (distance, a, b), each patient once."""
    n = len(distances)
    limit = caliper(distances)
    edges = sorted((distances[a][b], a, b) for a in range(n) for b in range(a + 1, n))
    pairs, used = [], set()
    for w, a, b in edges:
        if w <= limit and a not in used and b not in used:
            pairs.append((a, b))
            used |= {a, b}
    return pairs


def exact(distances):
    """Size and total of a minimum-weight maximum matching within the caliper (networkx)."""
    n = len(distances)
    limit = caliper(distances)
    graph = networkx.Graph()
    for a in range(n):
        for b in range(a + 1, n):
            if distances[a][b] <= limit:
                graph.add_edge(a, b, weight=distances[a][b])
    chosen = networkx.min_weight_matching(graph)
    return len(chosen), sum(distances[a][b] for a, b in chosen)


def nearest(distances):
    """Each patient's nearest other one, the lowest position among equals."""
    n = len(distances)
    return [min((distances[i][k], k) for k in range(n) if k != i)[1] for i in range(n)]
