"""Damage: of bytes, of texts with numbers, of folders."""

import re
from functools import partial

NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
NUMBERS = (b"0", b"-1", b"1e300", b"-1e300", b"nan", b"inf", b"1e18", b"99999999999999999999", b"1e-300", b"true",
           b"9" * 400, b"0x10", b"", b"-0", b"1_0", b"2147483648", b"1e9", b'"x"', b"[]", b"7" * 5000)  # fmt: skip
BYTES = (b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00" * 64, b"\xff" * 8,
         b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"[" * 3000, b"\xef\xbb\xbf", b"\r", b"%n%s", b"\xc3\x28")  # fmt: skip


def damaged(data, random):
    """Bytes with one to four wounds."""
    wounds = WOUNDS if b"\x00" in data[:4096] else TEXT_WOUNDS + WOUNDS
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = random.choice(wounds)(data, random)
    return data


def flipped(data, random, most=1 << 60):
    """One to eight bits turned, of so many bytes."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if data else 0):
        data[random.randrange(min(len(data), most))] ^= 1 << random.randrange(8)
    return bytes(data)


def cut(data, random):
    """The end is missing."""
    return data[: random.randrange(len(data) + 1)]


def overwritten(data, random):
    """Extreme values somewhere, or in between, where they push the rest."""
    place, value = random.randrange(len(data) + 1), random.choice(BYTES)
    return data[:place] + value + data[place + random.choice((0, len(value))) :]


def repeated(data, random):
    """A part comes again, up to a hundred times, or is missing."""
    first = random.randrange(len(data) + 1)
    last = first + random.choice((1, 4, 16, 64, 256, 1024, 4096))
    return data[:first] + data[first:last] * random.choice((0, 0, 0, 2, 4, 101)) + data[last:]


def another_number(data, random):
    """A number of a text replaced by an extreme one."""
    numbers = list(NUMBER.finditer(data))
    if not numbers:
        return data
    match = random.choice(numbers)
    return data[: match.start()] + random.choice(NUMBERS) + data[match.end() :]


def lines_moved(data, random):
    """A line lost, doubled, or moved to another place."""
    lines = data.split(b"\n")
    line, how = random.choice(lines), random.choice(("lost", "doubled", "moved"))
    if how != "doubled":
        lines.remove(line)
    if how != "lost":
        lines.insert(random.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


WOUNDS = (flipped, partial(flipped, most=512), cut, overwritten, overwritten, repeated, repeated)  # 512: headers
TEXT_WOUNDS = (another_number, another_number, another_number, lines_moved)


def damage_folder(folder, random):
    """Damage a file of a folder, or remove it, empty it, make it a folder, exchange it; the name of the file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    path = random.choice(files)
    sound, how = path.read_bytes(), random.choice(("removed", "emptied", "a folder", "exchanged", *6 * ("wounded",)))
    contents = {"emptied": b"", "exchanged": random.choice(files).read_bytes(), "wounded": damaged(sound, random)}
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how != "removed":
        path.write_bytes(contents[how])
    return str(path.relative_to(folder))
