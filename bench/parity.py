"""How far two machines are apart: waveforms of one scenario on each, and the measures by which they are compared. For the other scripts."""
import numpy as np

from craton import api


def difference(found, wanted):
    """Largest difference over the largest value, and root mean square of the difference over that of the values (relative L2).

    Parameters
    ----------
    found, wanted : ndarray or list of ndarray
        A list is measured as one.
    """
    a, b = (np.concatenate([np.ravel(one).astype(float) for one in (v if isinstance(v, list) else [v])]) for v in (found, wanted))
    return {"largest": float(np.abs(a - b).max() / np.abs(b).max()), "l2": float(np.linalg.norm(a - b) / np.linalg.norm(b))}


def compared(name, asked, devices=("cuda", "cpu"), show=print):
    """Velocity waveforms of a scenario on two machines: a row of a table, which is also printed."""
    found, wanted = (api.run(asked, device=device, progress=False).dataset.velocity.values for device in devices)
    row = {"case": name, **difference(found, wanted)}
    show(f"{name:<48} largest {row['largest']:.1e}  L2 {row['l2']:.1e}", flush=True)
    return row
