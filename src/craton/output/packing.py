"""How chunks of a store are packed: compressed, and with a checksum in front that every reader of
zarr compares.
"""


def packed():
    """Return the codecs of an array of a store: keywords of `zarr.Group.create_array`, or encoding
    of xarray.

    The checksum (CRC-32, of numcodecs) is that of the bytes in the file, which are compressed
    before: a bit that flips anywhere in a chunk is found by whoever reads it.
    """
    from numcodecs import CRC32, Blosc

    compression = Blosc(cname="zstd", clevel=1, shuffle=Blosc.BITSHUFFLE)
    return {"filters": [compression], "compressors": [CRC32()]}
