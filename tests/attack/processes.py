"""Processes that an attack has started: known by a mark in their environment, signalled as these processes only."""

from contextlib import suppress

import psutil

MARK = "ATTACK"  # variable of the environment


def family(mark):
    """Living processes of a mark, by pid; those that have ended and wait for their parent are left out."""
    living = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


def send(process, number):
    """Signal a process; a later one with its number gets nothing. Whether it was there."""
    try:
        process.send_signal(number)  # compares when the process began
    except psutil.NoSuchProcess:
        return False
    return True
