"""The equations on the staggered grid: operators, media, boundaries, contacts."""
