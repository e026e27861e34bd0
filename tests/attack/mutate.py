"""Damage: of bytes, of texts with numbers, of folders."""

import re

NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
NUMBERS = (b"0", b"-1", b"1e300", b"-1e300", b"nan", b"inf", b"1e18", b"99999999999999999999", b"1e-300", b"true",
           b"9" * 400, b"0x10", b"", b"-0", b"1_0", b"2147483648", b"1e9", b'"x"', b"[]", b"7" * 5000)  # fmt: skip
BYTES = (b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00" * 64, b"\xff" * 8,
         b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"[" * 3000, b"\xef\xbb\xbf", b"\r", b"%n%s", b"\xc3\x28")  # fmt: skip


def damaged(data, random):
    """Bytes with one to four wounds."""
    return wounded(data, random)[0]


def wounded(data, random):
    """Bytes with one to four wounds, and the names of these."""
    text, names = b"\x00" not in data[:4096], []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        wound = random.choice(TEXT_WOUNDS + WOUNDS if text else WOUNDS)
        data = wound(data, random)
        names.append(wound.__name__)
    return data, names


def flipped(data, random, most=1 << 60):
    """One to eight bits turned."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if data else 0):
        data[random.randrange(min(len(data), most))] ^= 1 << random.randrange(8)
    return bytes(data)


def flipped_head(data, random):
    """Bits of the first 512 bytes turned: headers of binary files."""
    return flipped(data, random, 512)


def cut(data, random):
    """The end is missing."""
    return data[: random.randrange(len(data) + 1)]


def overwritten(data, random):
    """Extreme values somewhere, or in between, where they push the rest."""
    place, value = random.randrange(len(data) + 1), random.choice(BYTES)
    return data[:place] + value + data[place + random.choice((0, len(value))) :]


def repeated(data, random):
    """A part comes again, up to a hundred times."""
    first = random.randrange(len(data) + 1)
    last = min(first + random.choice((1, 16, 256, 4096)), len(data))
    return data[:last] + data[first:last] * random.choice((1, 3, 100)) + data[last:]


def removed(data, random):
    """A part is missing."""
    first = random.randrange(len(data) + 1)
    return data[:first] + data[first + random.choice((1, 4, 64, 1024)) :]


def another_number(data, random):
    """A number of a text replaced by an extreme one."""
    numbers = list(NUMBER.finditer(data))
    if not numbers:
        return data
    match = random.choice(numbers)
    return data[: match.start()] + random.choice(NUMBERS) + data[match.end() :]


def lines_moved(data, random):
    """Lines exchanged, lost or doubled."""
    lines = data.split(b"\n")
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.choice(("exchanged", "lost", "doubled"))
    if how == "exchanged":
        lines[i], lines[j] = lines[j], lines[i]
    elif how == "lost":
        del lines[i]
    else:
        lines.insert(j, lines[i])
    return b"\n".join(lines)


WOUNDS = (flipped, flipped_head, cut, overwritten, overwritten, repeated, removed)
TEXT_WOUNDS = (another_number, another_number, another_number, lines_moved)


def damage_folder(folder, random):
    """Damage a file of a folder, or remove it, empty it, make it a folder, exchange it; the name of the file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    path = random.choice(files)
    how = random.choice(("removed", "emptied", "a folder", "exchanged", *6 * ("wounded",)))
    if how in ("removed", "a folder"):
        path.unlink()
        if how == "a folder":
            path.mkdir()
    elif how == "exchanged":
        path.write_bytes(random.choice(files).read_bytes())
    else:
        path.write_bytes(b"" if how == "emptied" else damaged(path.read_bytes(), random))
    return str(path.relative_to(folder))
