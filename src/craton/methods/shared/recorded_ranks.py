"""Recordings of which each rank of a mesh has some places: joined as the file has them."""

from dataclasses import replace

import numpy as np

from craton.core.gathering import partial_sums
from craton.core.recording import slots_for
from craton.methods.shared import points as operators


def joined(ringed, numbers, team):
    """Return the `Recording` of all ranks, and the arrays and launches that sample the places of
    this one; all ranks must call.

    Parameters
    ----------
    ringed : (Recording, dict of str to Array, Launch)
        Of this rank's places, as `craton.methods.shared.recorded.ring` returns it.
    numbers : (places,) int array
        Number of each place among those of all ranks.
    team : craton.comm.Together, or SingleRank

    Returns
    -------
    recording : Recording
    arrays : dict of str to Array
    launches : list of Launch
        Empty where this rank has no place.
    """
    recording, arrays, launch = ringed
    if team.size == 1:
        return recording, arrays, [launch]
    numbers_of_ranks, labels = zip(*team.every(lambda: (numbers, recording.labels)))
    order = np.argsort(np.concatenate(numbers_of_ranks))
    slots = slots_for(len(order), recording.steps, recording.precision)
    whole = replace(
        recording,
        slots=slots,
        labels={name: np.concatenate([of[name] for of in labels])[order] for name in labels[0]},
        gathering=partial_sums(numbers_of_ranks, len(order), operators.SAMPLE),
    )
    if not len(numbers):
        return whole, {}, []
    ring = replace(arrays[recording.array], shape=(slots, len(numbers)))
    sampling = replace(launch, params=launch.params | {"slots": slots})
    return whole, arrays | {recording.array: ring}, [sampling]


def numbered(count, team):
    """Return the numbers of this rank's places where those of one rank stand behind those of the
    other: (count,) int array; all ranks must call.

    Parameters
    ----------
    count : int
        Places of this rank.
    team : craton.comm.Together, or SingleRank
    """
    return sum(team.every(lambda: count)[: team.rank]) + np.arange(count)
