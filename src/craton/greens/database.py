"""A store of Green's functions, open: seismograms of any source in its volume."""

import json
from pathlib import Path

import numpy as np

from craton.conventions import TENSOR, TENSOR_AXES, VECTOR
from craton.errors import Problem, ScenarioError
from craton.greens.synthesis import LOST, Synthesis
from craton.methods import METHODS

TOGETHER = 64  # sources of a batch that are summed at a time
CACHE = 1 << 31  # bytes of chunks that stay in memory


def open(path):
    """Open a store of Green's functions.

    Parameters
    ----------
    path : path-like
        What `craton greens build` made.

    Returns
    -------
    Database

    Raises
    ------
    ScenarioError
        There is none, it is not complete, or it cannot be read.
    """
    return Database(path)


class Database:
    """Green's functions of some stations in a volume of possible sources.

    Parameters
    ----------
    path : path-like
        Folder of `craton greens build`.

    Attributes
    ----------
    stations : list of str
    positions : (stations, 3) array
        m.
    volume : (2, 3) array
        Its corners, m.
    max_frequency : float
        Hz.
    """

    def __init__(self, path):
        import zarr

        from craton.output.snapshots import ZARR_FORMAT

        self.path = Path(path)
        try:
            group = zarr.open_group(
                self.path / "result.zarr", mode="r", zarr_format=ZARR_FORMAT, use_consolidated=False
            )
            self._about, self._values = dict(group.attrs), group["values"]
            self._scale = group.get("scale", None)
            columns = [np.asarray(group[name][:]) for name in ("station", "component")]
            places = [np.asarray(group[axis][:], float) for axis in "xyz"]
        # a damaged store raises whatever its metadata make of it
        except Exception as error:
            words = f"{path} holds no Green's functions: {type(error).__name__}: {error}"
            remedy = "give the folder of craton greens build"
            raise ScenarioError([Problem("greens", words, remedy)]) from error
        self._refuse_unfinished()
        names, components = (list(map(str, column)) for column in columns)
        self.stations = list(dict.fromkeys(names))
        self.components = "".join(c for c in VECTOR if c in components)
        firsts = [names.index(name) for name in self.stations]
        self.positions = np.stack(places, axis=1)[firsts]
        self.max_frequency = float(self._about["max_frequency"])
        self.volume = np.array(self._about["volume"], float)
        about = self._about
        self.synthesis = Synthesis(
            about["dt"], about["start"], about["every"], self._values.shape[-1], self.max_frequency
        )
        self._rows = METHODS[about["method"]].moment_rows(self.scenario, about["field"])
        self._chunk, self._cache = self._values.chunks[1], {}

    def __repr__(self):
        return (
            f"<craton.greens.Database of {len(self.stations)} stations, to {self.max_frequency:g} "
            f"Hz, in {self.path}>"
        )

    def _refuse_unfinished(self):
        """Refuse a store some of whose forces are not there."""
        run = self.path / "run.json"
        state = json.loads(run.read_text()).get("state") if run.exists() else "unknown"
        if state != "finished":
            words = f"{self.path} is not complete: its state is {state}"
            raise ScenarioError([Problem("greens", words, "run craton greens build again")])

    @property
    def scenario(self):
        """The scenario that it was built from."""
        from craton.scenario import loads

        return loads(self._about["scenario"])

    # --- seismograms -------------------------------------------------------------------------------

    def seismograms(
        self, source=None, stations=None, sampling=None, duration=None, quantities=("velocity",)
    ):
        """Return the velocities of a source, or of several that act together, at stations.

        Parameters
        ----------
        source : table, dict, object, or list of these, optional
            As of `craton.Scenario`: a moment tensor, a file, an Event of ObsPy; by default the
            sources of the scenario.
        stations : list of str, optional
            By default all.
        sampling : float, optional
            s; by default half the interval of what is stored.
        duration : float, optional
            Where they end, s; by default where those of the scenario do, and no later.
        quantities : sequence of str
            ``"velocity"``, ``"displacement"``, ``"acceleration"``.

        Returns
        -------
        xarray.Dataset
            ``velocity(receiver, component, time)`` and the like, as of `craton.run`.

        Raises
        ------
        ScenarioError
            A source lies outside of the volume, or is a force; there is no such station.
        """
        from craton.output.dataset import waveforms
        from craton.scenario import dumps
        from craton.survey import receivers
        from craton.survey.channels import channels as channels_of
        from craton.survey.whereabouts import located

        scenario, chosen = self._changed(source), self._chosen(stations)
        sources = moments_of(scenario)
        times = self._times(sources, sampling, duration)
        places = located(receivers.build(scenario), scenario, sources)
        motion, step = scenario.domain.motion, times[1] - times[0]
        channels = channels_of(len(places), ("velocity",), motion)
        everywhere = list(range(len(self.stations)))
        samples = self._sum(sources, everywhere, times).reshape(len(channels), -1).T
        about = {"title": scenario.title, "scenario": dumps(scenario)} | places.event
        series = samples, channels, places, step, times[0] - step / 2, quantities
        return waveforms(*series, attributes=about, motion=motion).isel(receiver=chosen)

    def batch(self, xyz, moment, wavelet, stations=None, sampling=None, duration=None):
        """Return the velocities of many sources, each by itself.

        Parameters
        ----------
        xyz : (n, 3) array
            m.
        moment : (n, 6) or (n, 3, 3) array
            Tensors in east, north, up, N m; six numbers are EE, NN, ZZ, EN, EZ, NZ.
        wavelet : table or dict
            Of all of them: moment rate of unit moment.
        stations, sampling, duration
            As of `seismograms`.

        Returns
        -------
        velocity : (n, receivers, components, times) array
            m/s.
        times : array
            s.
        """
        history, chosen = wavelet_of(wavelet), self._chosen(stations)
        times = self._times([history], sampling, duration)
        xyz, six = np.atleast_2d(np.asarray(xyz, float)), six_numbers(moment)
        self._inside(xyz)
        out = np.empty((len(xyz), len(chosen), len(self.components), len(times)), np.float32)
        for begin in range(0, len(xyz), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            strain = self._strain(xyz[part], six[part], chosen, np.arange(len(xyz[part])))
            spectra = self.synthesis.spectra(strain.reshape(-1, strain.shape[-1]))
            velocity = self.synthesis.velocities(spectra, history, times)
            out[part] = velocity.reshape(-1, *out.shape[1:])
        return out, times

    def derivatives(self, source, stations=None, sampling=None, duration=None):
        """Return the velocities of the six unit moments at the place of a source: what moment tensor
        inversions need.

        Parameters
        ----------
        source, stations, sampling, duration
            As of `seismograms`; one source.

        Returns
        -------
        xarray.DataArray
            ``(tensor, receiver, component, time)``, m/s for 1 N m.
        """
        import xarray as xr

        sources, chosen = moments_of(self._changed(source)), self._chosen(stations)
        if len(sources) > 1:
            words = f"unit moments are of one place, and there are {len(sources)} sources"
            raise ScenarioError([Problem("source", words, "give them one after another")])
        times = self._times(sources, sampling, duration)
        xyz = np.array([sources[0].xyz] * len(TENSOR), float)
        self._inside(xyz)
        units = np.eye(len(TENSOR))
        strain = self._strain(xyz, units, chosen, np.arange(len(units)))
        spectra = self.synthesis.spectra(strain.reshape(-1, strain.shape[-1]))
        velocity = self.synthesis.velocities(spectra, sources[0].wavelet, times)
        shape = (len(TENSOR), len(chosen), len(self.components), len(times))
        coordinates = {
            "tensor": list(TENSOR),
            "receiver": [self.stations[n] for n in chosen],
            "component": list(self.components),
            "time": times,
        }
        return xr.DataArray(velocity.reshape(shape), coordinates, tuple(coordinates))

    # --- parts -------------------------------------------------------------------------------------

    def _sum(self, sources, chosen, times):
        """Velocities of sources that act together, (receivers, components, times)."""
        xyz = np.array([s.xyz for s in sources], float)
        self._inside(xyz)
        six = six_numbers([s.moment for s in sources])
        shape = (len(chosen), len(self.components), len(times))
        groups = {}
        for n, source in enumerate(sources):
            w = source.wavelet
            # samples are told apart as objects: two lists of values may have the same description
            key = w if w.kind == "samples" else (w.kind, w.delay, w.parameters, w.start, w.peak)
            groups.setdefault(key, []).append(n)
        out = np.zeros((shape[0] * shape[1], shape[2]))
        for numbers in groups.values():
            strain = self._strain(xyz[numbers], six[numbers], chosen)[0]
            spectra = self.synthesis.spectra(strain)
            out += self.synthesis.velocities(spectra, sources[numbers[0]].wavelet, times)
        return out.reshape(shape)

    def _strain(self, xyz, six, chosen, rows=None):
        """Strain rates weighted with moments, for the forces of stations: (rows, columns, samples).

        Parameters
        ----------
        xyz : (n, 3) array
            m.
        six : (n, 6) array
            Moments.
        chosen : list of int
            Stations.
        rows : (n,) int array, optional
            To which sum each source adds; by default all to one.
        """
        from scipy.sparse import csr_matrix

        rows = np.zeros(len(xyz), int) if rows is None else rows
        component, index, weight = self._rows(xyz)
        weight = (weight * six.T[component][:, :, None]).ravel()
        row = np.broadcast_to(rows[None, :, None], index.shape).ravel()
        chunk, local = np.divmod(index.ravel(), self._chunk)
        order = np.argsort(chunk, kind="stable")
        order = order[weight[order] != 0]
        edges = np.flatnonzero(np.diff(chunk[order], prepend=-1))
        count, samples = rows.max() + 1, self._values.shape[-1]
        out = np.zeros((count, self._values.shape[0] * samples), np.float32)
        for begin, end in zip(edges, [*edges[1:], len(order)]):
            part = order[begin:end]
            entries = weight[part].astype(np.float32), (row[part], local[part])
            block = self._block(int(chunk[part[0]]))
            out += csr_matrix(entries, shape=(count, self._chunk)) @ block
        width = len(self.components)
        columns = [n * width + c for n in chosen for c in range(width)]
        return out.reshape(count, -1, samples)[:, columns]

    def _block(self, number):
        """Values of one chunk of places, (places, forces times samples) float32; kept in memory."""
        block = self._cache.pop(number, None)
        if block is None:
            part = slice(number * self._chunk, (number + 1) * self._chunk)
            block = self._values[:, part].astype(np.float32)
            if self._scale is not None:
                block *= self._scale[:, part][:, :, None]
            block = np.ascontiguousarray(block.transpose(1, 0, 2)).reshape(block.shape[1], -1)
            while self._cache and (len(self._cache) + 1) * block.nbytes > CACHE:
                self._cache.pop(next(iter(self._cache)))
        self._cache[number] = block  # the last one used stands last
        return block

    def _changed(self, source):
        """Return the scenario, with other sources."""
        from craton.driver.simulation import changed

        return self.scenario if source is None else changed(self.scenario, source=source)

    def _chosen(self, stations):
        """Numbers of stations."""
        if stations is None:
            return list(range(len(self.stations)))
        stations = [stations] if isinstance(stations, str) else list(stations)
        unknown = [name for name in stations if name not in self.stations]
        if unknown:
            words = f'there is no station "{unknown[0]}"; there are {", ".join(self.stations[:8])}'
            raise ScenarioError([Problem("stations", words, "choose some of these")])
        return [self.stations.index(name) for name in stations]

    def _inside(self, xyz):
        """Refuse positions outside of the volume."""
        axes = [0, 2] if self.volume.shape[1] == 2 else [0, 1, 2]
        low, high = self.volume
        slack = 1e-6 * np.abs(self.volume).max()
        outside = ((xyz[:, axes] < low - slack) | (xyz[:, axes] > high + slack)).any(axis=1)
        if outside.any():
            words = (
                f"a source at {tuple(xyz[outside][0].round(3).tolist())} m lies outside of the "
                f"volume from {tuple(low.tolist())} to {tuple(high.tolist())} m"
            )
            raise ScenarioError([Problem("source", words, "build a store of a larger volume")])

    def _times(self, sources, sampling, duration):
        """Return the times of seismograms, s."""
        histories = [getattr(s, "wavelet", s) for s in sources]
        last = min(self._about["duration"], *map(self.synthesis.end, histories))
        end = last if duration is None else duration
        if end > last * (1 + 1e-9):
            words = f"{end:g} s are more than the {last:.4g} s that are stored for this wavelet"
            raise ScenarioError([Problem("duration", words, "build a longer store")])
        step, longest = sampling or self.synthesis.interval / 2, 0.5 / self.max_frequency
        if not 0 < step <= longest:
            words = f"{step:g} s is no sampling of waves up to {self.max_frequency:g} Hz"
            raise ScenarioError([Problem("sampling", words, f"give at most {longest:.4g} s")])
        first = np.floor(min(0.0, *(w.start for w in histories)) / step)
        if end < step:
            words = f"seismograms to {end:.4g} s hold no sample"
            raise ScenarioError([Problem("duration", words, "give a longer one")])
        return np.arange(first, np.floor(end / step + 1e-9) + 1) * step

    def warnings(self, source=None):
        """Return what is lost of the wavelets of a source: list of str.

        Parameters
        ----------
        source : table, dict, object, or list of these, optional
            As of `seismograms`.
        """
        histories = [s.wavelet for s in moments_of(self._changed(source))]
        share = max(map(self.synthesis.lost, histories))
        if share < LOST:
            return []
        return [
            f"the wavelet goes beyond the store's {self.max_frequency:g} Hz, where its spectrum is "
            f"{share:.2g} of its largest value: what is above is left out"
        ]


def moments_of(scenario):
    """Return the point sources of a scenario.

    Raises
    ------
    ScenarioError
        There are none, or others than moment tensors.
    """
    from craton.survey import source_files

    sources = source_files.build_all(scenario)
    wrong = [s for s in sources if getattr(s, "moment", None) is None]
    if wrong or not sources:
        words = "Green's functions are of moment tensors" if wrong else "there is no source"
        raise ScenarioError([Problem("source", words, 'use kind = "moment_tensor"')])
    return sources


def wavelet_of(table):
    """Return the `Wavelet` of a table or dict."""
    from pydantic import TypeAdapter

    from craton.survey import wavelets
    from craton.tables.sources import Wavelet

    spec = TypeAdapter(Wavelet).validate_python(table) if isinstance(table, dict) else table
    return wavelets.build(spec)


def six_numbers(moment):
    """Return tensors as (n, 6): EE, NN, ZZ, EN, EZ, NZ."""
    moment = np.asarray(moment, float)
    if moment.ndim >= 2 and moment.shape[-2:] == (3, 3):
        moment = moment.reshape(-1, 3, 3)
        return np.stack([moment[:, a, b] for a, b in TENSOR_AXES], axis=1)
    return np.atleast_2d(moment)
