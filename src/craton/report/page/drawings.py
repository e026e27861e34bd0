"""Pictures of a page, drawn at once or by copies of this process, several at a time."""

import multiprocessing
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory

from craton.report import figures

DPI = 110


class Drawings:
    """Pictures that are asked for one after another and fetched at the end, drawn by so many copies of this process at
    the same time; with 1 this process draws by itself. Only for a process that may be copied as it is, on systems that
    can.
    """

    def __init__(self, processes=1):
        can_copy = processes > 1 and "fork" in multiprocessing.get_all_start_methods()
        self.processes = processes if can_copy else 1
        self.folder = TemporaryDirectory(prefix="craton-report-")
        self.works, self.waiting, self.running = [], [], {}
        if self.processes > 1:
            with figures.figure(1, 1):  # copies find matplotlib loaded
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.kill()
            process.join()
        self.folder.cleanup()

    def add(self, draw, kind="png"):
        """Begin a picture, or let it wait for its turn, and return its number; `draw` writes it to the path ``path``,
        which ends in `kind`.
        """
        number = len(self.works)
        self.works.append((draw, Path(self.folder.name) / f"{number}.{kind}"))
        if self.processes > 1:
            self.waiting.append(number)
            self._begin()
        return number

    def picture(self, number):
        """Return the bytes of a picture; an error of drawing it is raised here."""
        while number in self.running or number in self.waiting:
            wait([process.sentinel for process in self.running.values()])
            self._begin()
        draw, path = self.works[number]
        if not path.exists():  # where a copy failed or ended early, its error comes again, here
            drawn(draw, path)
        return path.read_bytes()

    def _begin(self):
        """Start what waits while there is room."""
        self.running = {n: process for n, process in self.running.items() if process.is_alive()}
        while self.waiting and len(self.running) < self.processes:
            number = self.waiting.pop(0)
            copy = multiprocessing.get_context("fork")
            process = copy.Process(target=draw_aside, args=self.works[number], daemon=True)
            process.start()
            self.running[number] = process


def drawn(draw, path):
    """Draw a picture for a page."""
    with figures.resolution(DPI):
        draw(path=path)


def draw_aside(draw, path):
    """Draw a picture in a copy of a process; an error comes again where the picture is fetched."""
    part = path.with_name(f"part-{path.name}")
    with suppress(Exception):
        drawn(draw, part)
        part.replace(path)
