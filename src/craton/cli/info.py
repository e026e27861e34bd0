"""craton info: versions, extras, and the machines at hand."""

import platform


def info():
    """Show versions, compiler, memory and GPU.

    Where something is missing it says what to install.
    """
    from craton.backends.inventory import inventory
    from craton.versions import described_version

    needed, extras = dependencies()
    rows = [("craton", described_version()), ("python", f"{platform.python_version()} on {platform.platform()}")]
    rows += [(name, version_of(name)) for name in needed]
    rows += [(name, version_of(name, extra)) for name, extra in extras]
    rows += inventory()
    width = max(len(label) for label, _ in rows)
    print("\n".join(f"{label:<{width}}  {text}" for label, text in rows))


def dependencies():
    """Names of the packages that craton needs, and (name, extra) of those that an extra brings; as
    the package's metadata say.
    """
    from importlib.metadata import requires

    needed, extras = [], []
    for line in requires("craton") or ():
        name = line.replace("[", " ").replace("<", " ").replace(">", " ").replace("=", " ").replace(";", " ").split()[0]
        if "extra ==" not in line:
            needed.append(name)
        elif (extra := line.split("extra ==")[1].strip(" \"'")) in (
            "seis",
            "asdf",
            "plot",
            "netcdf",
            "mpi",
            "compiler",
        ):
            extras.append((name, extra))
    return needed, extras


def version_of(name, extra=""):
    """Version of a package; where it is missing, how to get it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return f"not installed: pip install 'craton[{extra}]'" if extra else "not installed"
