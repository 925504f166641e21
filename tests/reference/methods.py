"""The eight methods as the paper words them, one panel, one patient, one pair at a time."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import RobustScaler


def standardise(x):
    """z = (x - mean) / standard deviation, over the cohort."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def algorithm_1(distance):
    """Algorithm 1, line by line."""
    n = len(distance)
    barred = distance.copy()
    np.fill_diagonal(barred, np.inf)
    caliper = np.percentile(distance[np.triu_indices(n, k=1)], 25)
    _, sigma = linear_sum_assignment(barred)
    candidates = set()
    for i in range(n):
        a, b = min(i, int(sigma[i])), max(i, int(sigma[i]))
        if a != b and np.isfinite(distance[a, b]) and distance[a, b] <= caliper:
            candidates.add((distance[a, b], (a, b)))
    pairs, used = [], set()
    for _, (a, b) in sorted(candidates):
        if a in used or b in used:
            continue
        pairs.append((a, b))
        used |= {a, b}
    return pairs


def nearest_with_replacement(distance):
    """Each patient with the nearest other one, if within the caliper."""
    n = len(distance)
    caliper = np.percentile(distance[np.triu_indices(n, k=1)], 25)
    barred = distance.copy()
    np.fill_diagonal(barred, np.inf)
    nearest = barred.argmin(axis=1)
    return [(i, int(nearest[i])) for i in range(n) if distance[i, nearest[i]] <= caliper]


def scores_by_matching(matrix_of, y, physician, pair=algorithm_1):
    """Share of discordant pairs and the pairs, per physician."""
    scores, pairs = {}, {}
    for name in sorted(set(physician)):
        rows = np.flatnonzero(physician == name)
        found = pair(matrix_of(rows))
        pairs[name] = [(int(rows[a]), int(rows[b])) for a, b in found]
        discordant = [y[a] != y[b] for a, b in pairs[name]]
        scores[name] = np.mean(discordant) if discordant else np.nan
    return scores, pairs


def euclidean(x, y, physician):
    z = standardise(x)
    p = x.shape[1]
    return scores_by_matching(lambda rows: cdist(z[rows], z[rows]) / np.sqrt(p), y, physician)


def mahalanobis(x, y, physician):
    z = standardise(x)
    inverse = np.linalg.pinv(np.cov(z, rowvar=False))

    def matrix(rows):
        return cdist(z[rows], z[rows], "mahalanobis", VI=inverse)

    return scores_by_matching(matrix, y, physician)


def weighted(x, y, physician, weights):
    scaled = standardise(x) * np.sqrt(weights)
    return scores_by_matching(lambda rows: cdist(scaled[rows], scaled[rows]), y, physician)


def forest(x, y, random_state):
    n = len(x)
    return RandomForestClassifier(
        n_estimators=300,
        max_depth=8,
        min_samples_leaf=max(5, int(0.01 * n)),
        random_state=random_state,
    ).fit(x, y)


def learned_weights(x, y, physician, random_state=0):
    importances = forest(standardise(x), y, random_state).feature_importances_
    return weighted(x, y, physician, importances)


def rf_proximity(x, y, physician, random_state=0):
    leaves = forest(x, y, random_state).apply(x)

    def matrix(rows):
        panel = leaves[rows]
        shared = np.array([(panel == patient).mean(axis=1) for patient in panel])
        return 1 - shared

    return scores_by_matching(matrix, y, physician)


def mutual_information(x, y, physician, random_state=0):
    information = mutual_info_classif(standardise(x), y, random_state=random_state)
    return weighted(x, y, physician, information / information.sum())


def genetic_mahalanobis(x, y, physician, weights):
    scaled = standardise(x) * np.sqrt(weights)

    def matrix(rows):
        panel = scaled[rows]
        inverse = np.linalg.pinv(np.cov(panel, rowvar=False))
        return cdist(panel, panel, "mahalanobis", VI=inverse)

    return scores_by_matching(matrix, y, physician, nearest_with_replacement)


def lpa_guided(x, y, physician, random_state=0, n_init=10, largest=10):
    z = RobustScaler().fit_transform(x)
    models = [
        GaussianMixture(k, n_init=n_init, reg_covar=1e-6, random_state=random_state).fit(z)
        for k in range(2, largest + 1)
    ]
    converged = [model for model in models if model.converged_]
    model = min(converged, key=lambda each: each.bic(z)) if converged else models[0]
    membership = model.predict_proba(z)

    def matrix(rows):
        latent = cdist(membership[rows], membership[rows])
        clinical = cdist(z[rows], z[rows])
        return 0.5 * latent / latent.max() + 0.5 * clinical / clinical.max()

    return scores_by_matching(matrix, y, physician)


def glmm(x, y, physician):
    """Mean squared Pearson residual per physician, by statsmodels, and the fitted model."""
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    z = standardise(x)
    names = sorted(set(physician))
    intercepts = np.array([[float(who == name) for name in names] for who in physician])
    design = np.column_stack([np.ones(len(z)), z])
    model = BinomialBayesMixedGLM(
        np.asarray(y, dtype=float), design, intercepts, np.zeros(len(names), dtype=int)
    )
    size = design.shape[1] + 1 + len(names)
    fit = model.fit_vb(
        mean=np.zeros(size),
        sd=np.full(size, 0.3),
        minim_opts={"maxiter": 5000, "gtol": 1e-6},
    )
    predictor = design @ fit.fe_mean + intercepts @ fit.vc_mean
    p = 1 / (1 + np.exp(-predictor))
    residual = (y - p) / np.sqrt(p * (1 - p))
    return {name: np.mean(residual[physician == name] ** 2) for name in names}, fit
