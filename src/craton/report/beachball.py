"""Beachballs: the sign of the P waves that a moment tensor radiates, on the lower half of the focal
sphere.
"""

import numpy as np

COLOUR = "#20262e"
STEPS = (61, 241)  # of the take-off angle and the azimuth


def tensor_of(six):
    """Return the moment tensor (3, 3) in north, east, down from its six components up, south, east: rr, tt, pp, rt, rp,
    tp (r up, t south, p east), any unit.
    """
    rr, tt, pp, rt, rp, tp = map(float, six)
    return np.array([[tt, -tp, rt], [-tp, pp, -rp], [rt, -rp, rr]])


def radiated(tensor, azimuth, takeoff):
    """Return the far-field amplitude of P waves of a tensor (3, 3), in north, east, down, at azimuths clockwise from
    north and take-off angles from the downward vertical, degrees: the quadratic form of Aki and Richards (2002, eq.
    4.29), positive where the first motion is compressional.
    """
    azimuth, takeoff = np.radians(azimuth), np.radians(takeoff)
    direction = np.stack(
        np.broadcast_arrays(np.sin(takeoff) * np.cos(azimuth), np.sin(takeoff) * np.sin(azimuth), np.cos(takeoff))
    )
    return np.einsum("i...,ij,j...->...", direction, tensor, direction)


def projected(azimuth, takeoff):
    """Return the place of azimuths and take-off angles, degrees, on the equal-area (Schmidt) projection of the lower
    hemisphere, of radius 1: east and north.
    """
    radius = np.sqrt(2.0) * np.sin(np.radians(takeoff) / 2)
    return radius * np.sin(np.radians(azimuth)), radius * np.cos(np.radians(azimuth))


def compressional(six, turn=0.0):
    """Return the outlines of the compressional part of a beachball of radius 1 about (0, 0), list of
    matplotlib.path.Path, of six components as `tensor_of` takes them; `turn` is the azimuth of the direction that is up
    in the picture, degrees.
    """
    from contourpy import contour_generator
    from matplotlib.path import Path

    takeoff, azimuth = np.meshgrid(np.linspace(0, 90, STEPS[0]), np.linspace(0, 360, STEPS[1]), indexing="ij")
    amplitude = radiated(tensor_of(six), azimuth + turn, takeoff)
    if amplitude.max() <= 0:
        return []
    lines = contour_generator(*projected(azimuth, takeoff), amplitude, fill_type="OuterCode")
    filled = lines.filled(0.0, 1.01 * float(amplitude.max()))
    return [Path(points, codes) for points, codes in zip(*filled)]


def patches(six, centre, radius, turn=0.0, colour=COLOUR):
    """Return the patches of a beachball in their order, compression in a colour, dilatation white; see `compressional`."""
    from matplotlib.patches import Circle, PathPatch
    from matplotlib.transforms import Affine2D

    placed = Affine2D().scale(radius).translate(*centre)
    return [
        Circle(centre, radius, facecolor="white", edgecolor="none"),
        *(
            PathPatch(placed.transform_path(path), facecolor=colour, edgecolor="none")
            for path in compressional(six, turn)
        ),
        Circle(centre, radius, facecolor="none", edgecolor=colour, linewidth=1.0),
    ]


def draw(axis, six, place, size=0.42, turn=0.0):
    """Draw a beachball of a diameter in inches upon a point of a map of any scales; see `compressional`."""
    from matplotlib.offsetbox import AnnotationBbox, DrawingArea

    half = 36 * size  # points
    area = DrawingArea(2 * half, 2 * half)
    for patch in patches(six, (half, half), half, turn):
        area.add_artist(patch)
    axis.add_artist(AnnotationBbox(area, place, frameon=False, pad=0, zorder=7))
