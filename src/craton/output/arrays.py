"""How the stores of results are opened, and how their arrays are created, packed and described."""

import numpy as np

CHUNK_BYTES = 16 << 20
# Format 2 of zarr: text coordinates and consolidated metadata are part of its specification, so
# every reader takes them without warning.
ZARR_FORMAT = 2


def packed():
    """Return the codecs of an array of a store: keywords of `zarr.Group.create_array`, or encoding
    of xarray.

    The checksum (CRC-32, of numcodecs) is that of the bytes in the file, which are compressed
    before: a bit that flips anywhere in a chunk is found by whoever reads it.
    """
    from numcodecs import CRC32, Blosc

    compression = Blosc(cname="zstd", clevel=1, shuffle=Blosc.BITSHUFFLE)
    return {"filters": [compression], "compressors": [CRC32()]}


def open_group(path, mode="r", group=None):
    """Return a store, or a group of it, as zarr.Group; of its metadata those beside each array, which are never old."""
    import zarr

    return zarr.open_group(path, path=group, mode=mode, zarr_format=ZARR_FORMAT, use_consolidated=False)


def open_dataset(path, group=None):
    """Return a store, or a group of it, as xarray.Dataset whose values are read when they are used."""
    import xarray as xr

    return xr.open_zarr(path, group=group, chunks=None)


def open_datasets(path, group) -> dict:
    """Return the groups of a group of a store by name, each as `open_dataset` does."""
    names = sorted(entry.parent.name for entry in (path / group).glob("*/.zgroup"))
    return {name: open_dataset(path, f"{group}/{name}") for name in names}


def consolidate(path, *groups):
    """Gather the metadata of some groups of a store, then of all of it, into one file each, which xarray opens at once
    and without warning.
    """
    import zarr

    for group in (*groups, None):
        zarr.consolidate_metadata(path, path=group, zarr_format=ZARR_FORMAT)


def create(group, name, shape, chunks, dtype, dims, attributes=None, fill_value=np.nan, codecs=None):
    """Return a new array of a group that has no chunk yet; what is not written reads as `fill_value`.

    Parameters
    ----------
    group : zarr.Group
    name : str
    shape, chunks : tuple of int
    dtype : dtype
    dims : sequence of str
        Names of its dimensions, as xarray reads them.
    attributes : dict, optional
    fill_value : number or None
    codecs : dict, optional
        By default those of `packed`.
    """
    return group.create_array(
        name,
        shape=shape,
        chunks=tuple(max(n, 1) for n in chunks),
        dtype=dtype,
        fill_value=fill_value,
        attributes={"_ARRAY_DIMENSIONS": list(dims), **(attributes or {})},
        **(packed() if codecs is None else codecs),
    )


def write_whole(group, name, values, dims, attributes=None):
    """Write an array with its values, in one chunk."""
    create(group, name, values.shape, values.shape, values.dtype, dims, attributes, fill_value=None)[...] = values


def write_dataset(path, dataset, group=None, names=None):
    """Write a dataset in place of a store or of a group of it, without gathered metadata, and return the zarr.Group; the
    variables of some names, by default all, are packed.
    """
    encoding = {name: packed() for name in (dataset.variables if names is None else names)}
    how = {"zarr_format": ZARR_FORMAT, "consolidated": False}
    dataset.to_zarr(path, group=group, mode="w", encoding=encoding, **how)
    return open_group(path, "r+", group)
