"""craton survey status: how far a survey is, from what stands in its folder."""

from datetime import UTC, datetime
from pathlib import Path

from craton.cli.check import refuse
from craton.text import duration

SHOWN = 10  # shots of each kind that are listed


def status(out):
    """Print the state of a survey, its rate, the shots under way and those that failed."""
    from craton.output.shots import sound_outcomes
    from craton.output.store import read_run
    from craton.shots.log import outcomes_in, running_in

    state = read_run(out)
    if not isinstance(state.get("survey"), str):
        refuse("OUT", f"there is no survey in {out}", "name the folder of craton survey")
    shots = {**sound_outcomes(state.get("shots")), **outcomes_in(out)}
    under_way = running_in(out, str(state.get("start", "")))
    print("\n".join(lines(out, state, shots, under_way)))


def lines(out, state, shots, under_way):
    """Return the lines of the report: list of str.

    Parameters
    ----------
    out : str
    state : dict
        Of run.json.
    shots : dict
        Outcome of each shot that ended, by name.
    under_way : list of tuple
        Of `craton.shots.log.running_in`.
    """
    failed = {name: shot for name, shot in shots.items() if shot["state"] != "finished"}
    total = state.get("total")
    total = total if isinstance(total, int) else len(shots)
    done, left = len(shots) - len(failed), max(total - len(shots), 0)
    rows = [
        f"{out}: {state.get('state')}, started {state.get('resumed') or state.get('started')}",
        f"  shots    {total:,}: {done:,} finished, {len(failed):,} failed, {left:,} to run",
    ]
    if state.get("state") == "running":
        rows += [f"  rate     {text}" for text in pace(state, shots, left)]
        rows += rows_of_list("running", [under_way_words(*shot) for shot in under_way])
    rows += rows_of_list("failed", [f"{name}: {shot.get('reason')}" for name, shot in failed.items()])
    return rows


def rows_of_list(label, texts):
    """Rows of a list, the first ones where it is long."""
    more = [f"and {len(texts) - SHOWN:,} more"] if len(texts) > SHOWN else []
    return [f"  {label:<8} {text}" for text in [*texts[:SHOWN], *more]]


def under_way_words(file, begun, worker, attempt):
    """Return a shot under way in words."""
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{Path(file).stem} on {worker} for {duration(since(begun))}{again}"


def pace(state, shots, left):
    """Shots per hour of this start and the time left, in words; nothing before the first one."""
    began = state.get("resumed") or state.get("started")
    ended = sum(shot.get("start") == state.get("start") for shot in shots.values())
    seconds = since(began)
    if not ended or not seconds:
        return []
    rate = ended / seconds
    return [f"{3600 * rate:,.0f} shots an hour, {duration(left / rate)} left"]


def since(text):
    """Seconds since a time of run.json; 0 where it is none."""
    try:
        return max((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0
