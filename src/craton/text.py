"""Numbers in words: rates, durations, sizes."""


def rate(point_steps, seconds):
    """Points times steps per second, in words."""
    value = point_steps / max(seconds, 1e-9)
    return f"{value / 1e9:.2f} Gpoint-steps/s" if value >= 1e9 else f"{value / 1e6:.1f} Mpoint-steps/s"


def interactions(pairs, seconds):
    """Interactions of prisms and points per second, in words."""
    value = pairs / max(seconds, 1e-9)
    return f"{value / 1e9:.2f} G interactions/s" if value >= 1e9 else f"{value / 1e6:.1f} M interactions/s"


def duration(seconds):
    """A time in words."""
    if seconds < 100:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def megabytes(nbytes):
    """Bytes in words."""
    return f"{nbytes / 2**30:,.2f} GiB" if nbytes >= 2**30 else f"{nbytes / 2**20:,.1f} MiB"
