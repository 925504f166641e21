"""Newton systems with an arrow shape: a dense shared block and one 2 x 2 block per physician."""

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray


@dataclass(frozen=True)
class ArrowSystem:
    """Gradient and Hessian: shared block, 2 x 2 blocks, and their cross terms (J, 2, shared)."""

    shared_gradient: FloatArray
    block_gradient: FloatArray
    shared: FloatArray
    blocks: FloatArray
    cross: FloatArray

    def with_scale_held(self) -> "ArrowSystem":
        """Keep the last two shared parameters (the random scale) still."""
        gradient, shared, cross = self.shared_gradient.copy(), self.shared.copy(), self.cross.copy()
        gradient[-2:] = 0.0
        cross[:, :, -2:] = 0.0
        shared[-2:, :] = shared[:, -2:] = 0.0
        shared[-2:, -2:] = np.eye(2)
        return ArrowSystem(gradient, self.block_gradient, shared, self.blocks, cross)

    def step(self, damping: float) -> tuple[FloatArray, FloatArray] | None:
        """Damped Newton step, or None where the damped Hessian is not positive definite."""
        shared, blocks = self.shared.copy(), self.blocks.copy()
        diagonal = np.arange(shared.shape[0])
        shared[diagonal, diagonal] += damping * np.abs(self.shared[diagonal, diagonal])
        for axis in (0, 1):
            blocks[:, axis, axis] += damping * np.abs(self.blocks[:, axis, axis])
        determinant = blocks[:, 0, 0] * blocks[:, 1, 1] - blocks[:, 0, 1] ** 2
        if not (np.all(blocks[:, 0, 0] > 0.0) and np.all(determinant > 0.0)):
            return None
        adjugate = np.empty_like(blocks)
        adjugate[:, 0, 0], adjugate[:, 1, 1] = blocks[:, 1, 1], blocks[:, 0, 0]
        adjugate[:, 0, 1] = adjugate[:, 1, 0] = -blocks[:, 0, 1]
        inverse = adjugate / determinant[:, None, None]
        weighted = np.einsum("jab,jbd->jad", inverse, self.cross)
        width = shared.shape[0]
        flat_cross, flat_weighted = self.cross.reshape(-1, width), weighted.reshape(-1, width)
        schur = shared - flat_cross.T @ flat_weighted
        # The shared parameters live on very different scales: factorise the scaled matrix.
        scale = np.sqrt(np.abs(np.diag(schur))) + np.finfo(np.float64).tiny
        try:
            factor = np.linalg.cholesky(schur / np.outer(scale, scale))
        except np.linalg.LinAlgError:
            return None
        right = -self.shared_gradient + flat_weighted.T @ self.block_gradient.ravel()
        half = np.linalg.solve(factor, right / scale)
        shared_step = np.linalg.solve(factor.T, half) / scale
        remainder = -self.block_gradient - (flat_cross @ shared_step).reshape(-1, 2)
        return shared_step, np.einsum("jab,jb->ja", inverse, remainder)
