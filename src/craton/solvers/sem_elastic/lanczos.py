"""Largest eigenvalue of a self-adjoint operator, with a bound from above, by Lanczos' method without reorthogonalisation.

After m steps from a random vector, theta is the largest eigenvalue of the tridiagonal matrix, y the Ritz vector, and
|| T y - theta y || = beta_{m+1} |s_m| with s_m the last component of the eigenvector of the tridiagonal matrix: an eigenvalue of T lies
within that distance of theta (Parlett 1998, theorem 4.5.1). theta never exceeds the largest eigenvalue. Once an eigenvalue has
converged, vectors lose orthogonality and theta comes again as a copy: what is asked for here does not suffer (Paige 1980).
"""
from dataclasses import dataclass

import numpy as np

CLOSE = 0.01  # residual over eigenvalue at which it ends
FEWEST, MOST = 16, 100  # steps: a mode of few points among a hundred million begins with 1e-4 of the vector


@dataclass(frozen=True)
class Largest:
    """What Lanczos' method gives.

    Parameters
    ----------
    value : float
        Largest eigenvalue, from below.
    residual : float
        Norm of the Ritz vector's residual.
    weights : (steps,) array
        Of the Lanczos vectors in the Ritz vector.
    """

    value: float
    residual: float
    weights: np.ndarray

    @property
    def bound(self):
        """Eigenvalue from above."""
        return self.value + self.residual


def largest(operator, start, keep=None, close=CLOSE, most=MOST):
    """The `Largest` of an operator T.

    Parameters
    ----------
    operator : object
        ``apply(r)`` gives T r, <r, r> and <r, T r>; ``scaled(r, factor)`` is factor r; ``combined(image, scale, v, alpha, before, beta)`` is
        scale image - alpha v - beta before.
    start : vector
    keep : callable, optional
        Is given each Lanczos vector.
    close : float
        Residual over eigenvalue at which the steps end.
    most : int
        Steps.
    """
    vector, before, diagonal, beside, found = start, None, [], [], None
    while True:
        image, square, product = operator.apply(vector)
        norm = float(np.sqrt(max(square, 0.0)))
        if diagonal:
            found = ritz(diagonal, beside, norm)
            enough = len(diagonal) >= FEWEST and found.residual <= close * found.value
            if enough or len(diagonal) >= most or norm <= 1e-6 * found.value:
                return found
            beside.append(norm)
        elif not norm:
            return Largest(0.0, 0.0, np.ones(1))
        vector = operator.scaled(vector, 1 / norm)
        if keep:
            keep(vector)
        diagonal.append(product / square)
        vector, before = operator.combined(image, 1 / norm, vector, diagonal[-1], before, beside[-1] if beside else 0.0), vector


def ritz(diagonal, beside, norm):
    """The `Largest` of a tridiagonal matrix from its diagonal, what stands beside it, and the norm of the next vector."""
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return Largest(float(values[-1]), float(norm * abs(vectors[-1, -1])), vectors[:, -1])
