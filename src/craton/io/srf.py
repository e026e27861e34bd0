"""Standard Rupture Format (R. Graves, SCEC), versions 1.0 and 2.0: finite faults as many subfaults
with their slip rates.
"""

from dataclasses import dataclass

import numpy as np

from craton.io.contents import floats

AREA, SLIP, SPEED, DENSITY = 1e-4, 1e-2, 1e-2, 1e3  # cm2, cm and cm/s, cm/s, g/cm3 in SI units
WORDS = {"1.0": (8, 7), "2.0": (10, 7)}  # numbers in the two heading lines of a subfault


@dataclass(frozen=True, eq=False)
class Rupture:
    """The subfaults of a file, arrays over them, SI units.

    Parameters
    ----------
    longitude, latitude, depth : ndarray (n,)
        Degrees (or metres, as the file has them); m.
    strike, dip, rake : ndarray (n,)
        Degrees, Aki & Richards.
    area : ndarray (n,)
        m2.
    onset, interval : ndarray (n,)
        Time of the first sample of the slip rates, and their interval, s.
    vs, density : ndarray (n,)
        m/s, kg/m3; nan where the file does not say.
    slip : ndarray (n, 3)
        Total slip as the heading states it, m: along rake, at 90 degrees to it, normal to the
        fault.
    first : ndarray (3 n + 1,)
        Where the samples of component c of subfault i begin in `rates`: entry 3 i + c.
    rates : ndarray
        Slip rates, m/s, float32.
    """

    longitude: np.ndarray
    latitude: np.ndarray
    depth: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    rake: np.ndarray
    area: np.ndarray
    onset: np.ndarray
    interval: np.ndarray
    vs: np.ndarray
    density: np.ndarray
    slip: np.ndarray
    first: np.ndarray
    rates: np.ndarray


def read(path):
    """Read the rupture of a file.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Rupture

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        A line that is not what the format has there: says which.
    """
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        lines = _Lines(file)
        version = _version(lines)
        headings, rates = [], []
        while (words := lines.next()) is not None:
            if words[0] == "PLANE":
                for _ in range(2 * lines.count(words, "planes")):
                    lines.numbers(1, "the heading of a plane")
            elif words[0] == "POINTS":
                for _ in range(lines.count(words, "subfaults")):
                    heading, samples = _subfault(lines, version)
                    headings.append(heading)
                    rates += samples
            else:
                raise ValueError(
                    f"line {lines.at}: {' '.join(words)[:40]!r} where PLANE or POINTS and a number are expected"
                )
    if not headings:
        raise ValueError(f"line {lines.at}: the file ends without a subfault")
    return _rupture(np.array(headings), rates)


def _version(lines):
    words = lines.next()
    if words is None or words[0].lower() not in WORDS:
        raise ValueError(
            f"line {max(lines.at, 1)}: an SRF file starts with its version, 1.0 or 2.0, not {' '.join(words or [])[:40]!r}"
        )
    return words[0]


def _subfault(lines, version):
    """Return the 17 numbers of a subfault's heading, and its three arrays of samples."""
    place, mechanism = (lines.numbers(n, "a subfault's heading") for n in WORDS[version])
    at = lines.at
    lon, lat, depth, strike, dip, area, onset, interval, *medium = place
    vs, density = [v if v > 0 else np.nan for v in medium] or (np.nan, np.nan)
    rake, slip1, n1, slip2, n2, slip3, n3 = mechanism
    counts = (n1, n2, n3)
    if any(n < 0 or n != int(n) for n in counts):
        raise ValueError(f"line {at}: {counts} are not valid numbers of samples")
    if area <= 0 or (interval <= 0 and any(counts)):
        raise ValueError(f"line {at - 1}: area {area:g} cm2 and interval {interval:g} s must be positive")
    samples = lines.samples(int(sum(counts)))
    parts = np.split(samples, np.cumsum(counts).astype(int)[:2])
    return (lon, lat, depth, strike, dip, area, onset, interval, vs, density, rake, slip1, slip2, slip3), parts


def _rupture(h, rates):
    first = np.cumsum([0, *(len(r) for r in rates)])
    return Rupture(
        h[:, 0],
        h[:, 1],
        1e3 * h[:, 2],
        h[:, 3],
        h[:, 4],
        h[:, 10],
        AREA * h[:, 5],
        h[:, 6],
        h[:, 7],
        SPEED * h[:, 8],
        DENSITY * h[:, 9],
        SLIP * h[:, 11:14],
        first,
        np.float32(SPEED) * np.concatenate(rates),
    )


class _Lines:
    """The lines of a file that are not empty and no comment, with the number of the last one read."""

    def __init__(self, file):
        self.file, self.at = file, 0

    def line(self):
        """Return the next line, or None at the end."""
        for line in self.file:
            self.at += 1
            if line.strip() and not line.lstrip().startswith("#"):
                return line
        return None

    def next(self):
        """Return the words of the next line, or None at the end."""
        line = self.line()
        return None if line is None else line.split()

    def array(self, noun):
        """Return the next line as numbers."""
        line = self.line()
        if line is None:
            raise ValueError(f"line {self.at}: the file ends where {noun} is expected")
        try:
            return floats(line.split())
        except ValueError:
            raise ValueError(f"line {self.at}: {line.strip()[:40]!r} is not {noun}") from None

    def numbers(self, least, noun):
        """Return the next line, of at least so many finite numbers; exactly as many where they are
        a subfault's.
        """
        values = self.array(noun)
        if len(values) < least or not np.isfinite(values).all():
            raise ValueError(f"line {self.at}: {len(values)} numbers, {noun} has {least}, all finite")
        return values[:least].tolist()

    def count(self, words, noun):
        """Return the number behind PLANE or POINTS."""
        if len(words) < 2 or not words[1].isdecimal():
            raise ValueError(f"line {self.at}: {words[0]} must be followed by the number of {noun}")
        return int(words[1])

    def samples(self, count):
        """Return the next so many samples, over any number of lines."""
        parts, have = [], 0
        while have < count:
            parts.append(self.array(f"{count} samples of slip rate ({have} read)").astype(np.float32))
            have += len(parts[-1])
        if have > count or not all(np.isfinite(p).all() for p in parts):
            fault = (
                f"{have} samples of slip rate, but the header announces {count}"
                if have > count
                else "a slip rate that is not finite"
            )
            raise ValueError(f"line {self.at}: {fault}")
        return np.concatenate(parts) if parts else np.empty(0, np.float32)
