"""Distances by their definitions."""

import numpy as np


def euclidean(z):
    """Root mean squared differences."""
    return np.array([[np.sqrt(np.sum((a - b) ** 2)) for b in z] for a in z]) / np.sqrt(z.shape[1])


def mahalanobis(z, covariance):
    """With the Moore-Penrose inverse."""
    inverse = np.linalg.pinv(covariance)
    return np.array([[np.sqrt(max((a - b) @ inverse @ (a - b), 0.0)) for b in z] for a in z])


def proximity(leaves):
    """Share of trees in which two patients fall apart."""
    trees = leaves.shape[1]
    return np.array([[(trees - np.sum(a == b)) / trees for b in leaves] for a in leaves])


def hybrid(memberships, z, alpha=0.5):
    """Latent and clinical distances over their largest values."""
    latent = np.array([[np.linalg.norm(a - b) for b in memberships] for a in memberships])
    clinical = np.array([[np.linalg.norm(a - b) for b in z] for a in z])
    total = np.zeros_like(latent)
    if latent.max() > 0:
        total += alpha * latent / latent.max()
    if clinical.max() > 0:
        total += (1 - alpha) * clinical / clinical.max()
    return total
