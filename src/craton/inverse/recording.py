"""From the samples of a run to its data, and the transpose: correction in time, integration,
resampling, sorting into receivers and components.
"""

import numpy as np

from craton.conventions import DIFFERENTIATED, INTEGRATED, QUANTITIES, TENSOR, VECTOR, recorded_as
from craton.driver.result import Result
from craton.output.dataset import COMPONENT_DIMS, components_along, time_axis
from craton.survey import filters, globe, leapfrog
from craton.survey.receivers import ALONG_FIBRE


class Recording:
    """What a plan's receivers record, as data.

    Parameters
    ----------
    scenario : Scenario
    plan : Plan
    """

    def __init__(self, scenario, plan):
        self.scenario, self.plan = scenario, plan
        self.sampling = scenario.output.sampling
        self._blank = None
        self.quantities = scenario.output.waveforms if len(plan.receivers) else ()

    @property
    def times(self):
        """Sample times of the data, s."""
        plan = self.plan
        return time_axis(plan.steps - plan.extra, plan.dt, plan.start, self.sampling)

    @property
    def interval(self):
        """Sampling interval of the data, s."""
        return self.sampling or self.plan.dt

    def dataset(self, samples, device="cpu"):
        """Return the data as a dataset: the waveforms, and ``fibre_strain_rate(channel, time)``.

        Parameters
        ----------
        samples : (steps, channels) array
        device : str
        """
        result = Result(self.scenario, self.plan, samples, {"device": device})
        waves = result.dataset if self.quantities else None
        if result.fibres is None:
            return waves
        fibres = result.fibres.rename({"strain_rate": ALONG_FIBRE})
        if waves is None:
            return fibres
        # positions of channels and of receivers have the same names
        along = {name: f"channel_{name}" for name in fibres.coords if name in waves.coords}
        along.pop("time", None)
        return waves.merge(fibres.rename(along), combine_attrs="override")

    def blank(self):
        """Return the dataset of a run in which nothing moves; NaN where a receiver has no channel."""
        if self._blank is None:
            shape = (self.plan.steps, len(self.plan.channels))
            self._blank = self.dataset(np.zeros(shape))
        return self._blank

    @property
    def shapes(self):
        """Shapes of the data by variable."""
        blank = self.blank()
        return {str(name): blank[name].shape for name in blank.data_vars}

    def arrays(self, samples):
        """Return the data by variable, without labels; 0 where a receiver has no channel.

        Parameters
        ----------
        samples : (steps, channels) array
        """
        data, blank = self.dataset(samples), self.blank()
        return {str(name): np.where(np.isnan(blank[name].values), 0.0, data[name].values) for name in data.data_vars}

    def transpose(self, derivatives):
        """Return the derivative by the samples from that by the data, (steps, channels).

        Parameters
        ----------
        derivatives : dict of str to ndarray
            By variable of the dataset, dimensions as there.
        """
        plan = self.plan
        out = np.zeros((plan.steps, len(plan.channels)))
        for name, values in derivatives.items():
            if name == ALONG_FIBRE:
                columns = [n for n, c in enumerate(plan.channels) if c.quantity == ALONG_FIBRE]
                out[:, columns] += self._at_steps(np.asarray(values, float).T, 0.5)
                continue
            values = np.asarray(values, float)
            for shot, part in enumerate(values if plan.shots else [values]):
                self._add_quantity(out, name, part, shot)
        return self._uncorrected(out)

    def _add_quantity(self, out, name, values, shot):
        """Add the derivative by one quantity of a shot, (receiver[, component], time)."""
        plan, recorded, values = self.plan, recorded_as(name), self._in_model_axes(name, values)
        columns = [
            n for n, channel in enumerate(plan.channels) if channel.quantity == recorded and channel.shot == shot
        ]
        used = [plan.channels[n] for n in columns]
        components = self._components(name)
        series = np.stack(
            [values[c.receiver, components.index(c.component)] if components else values[c.receiver] for c in used],
            axis=1,
        )
        shift = 0.5 if name in INTEGRATED | DIFFERENTIATED else 0.0
        for place in {channel.place for channel in used}:
            chosen = [n for n, c in enumerate(used) if c.place == place]
            at_steps = self._at_steps(series[:, chosen], place + shift)
            if name in INTEGRATED:
                at_steps = filters.integrate_transposed(at_steps, plan.dt)
            elif name in DIFFERENTIATED:
                at_steps = filters.differentiate_transposed(at_steps, plan.dt)
            out[:, [columns[n] for n in chosen]] += at_steps

    def _in_model_axes(self, name, values):
        """Transpose of `craton.survey.globe.turned`: from each receiver's east, north, up to the axes
        of the model.
        """
        stations = self.plan.receivers.stations
        axes, dim = getattr(stations, "axes", None), COMPONENT_DIMS.get(QUANTITIES[name][0])
        if axes is None or dim is None:
            return values
        turn, labels = (globe.vectors, VECTOR) if dim == "component" else (globe.tensors, TENSOR)
        unit = np.broadcast_to(np.eye(len(labels)), (len(values), len(labels), len(labels)))
        after = [labels.index(c) for c in self.blank()[dim].values]
        before = [labels.index(c) for c in self._components(name)]
        matrices = turn(unit, axes)[:, after][:, :, before]
        return np.einsum("roi,rot->rit", matrices, values)

    def _components(self, name):
        """Components of a quantity in the order of the dataset; empty without."""
        dim = COMPONENT_DIMS.get(QUANTITIES[name][0])
        return components_along(dim, self.quantities, self.scenario.domain.motion) if dim else ()

    def _at_steps(self, series, place):
        """Transpose of `craton.output.dataset.at_times`."""
        plan, times, sampling = self.plan, self.times, self.sampling
        if place == 0.5 and sampling is None:
            out = np.zeros((plan.steps, series.shape[1]))
            out[: len(times)] = series
            return out
        coarser = sampling is not None and sampling > plan.dt * (1 + 1e-9)
        cutoff = 0.8 * 0.5 / sampling if coarser else None
        first = plan.start + place * plan.dt
        return filters.resample_transposed(series, first, plan.dt, times, plan.steps, cutoff)

    def _uncorrected(self, values):
        """Transpose of `craton.output.dataset.corrected`."""
        plan, out = self.plan, np.empty_like(values)
        for place in {channel.place for channel in plan.channels}:
            columns = [n for n, channel in enumerate(plan.channels) if channel.place == place]
            out[:, columns] = leapfrog.from_leapfrog_transposed(values[:, columns], plan.dt, place, plan.band)
        return out
