"""StationXML: stations and channels, read through ObsPy and written as text: the objects of ObsPy take 50 kB a station."""

from datetime import UTC, datetime
from io import BytesIO
from xml.sax.saxutils import escape

from craton.io.contents import Stations, sensors
from craton.io.fdsn import CODES, channel_code, components, is_seismic, orientation, sites, span
from craton.io.libraries import has_obspy, library, read_with_obspy

HEAD = """<?xml version='1.0' encoding='UTF-8'?>
<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.2">
  <Source>craton</Source>
  <Sender>craton</Sender>
  <Created>{created}</Created>
"""
NETWORK = """  <Network code="{code}" startDate="{begin}">
    <Description>synthetic waveforms by craton</Description>
"""
STATION = """    <Station code="{site.station}" startDate="{begin}" endDate="{end}">
      <Comment><Value>receiver {name}: x = {x:g} m, y = {y:g} m, z = {z:g} m in the model's local coordinates</Value></Comment>
      <Latitude>{site.latitude}</Latitude> <Longitude>{site.longitude}</Longitude>
      <Elevation unit="METERS">{site.ground}</Elevation>
      <Site><Name>{name}</Name></Site>
      <CreationDate>{begin}</CreationDate>
"""
CHANNEL = """      <Channel code="{code}" startDate="{begin}" endDate="{end}" locationCode="{location}">
        <Description>{description}</Description>
        <Latitude>{site.latitude}</Latitude> <Longitude>{site.longitude}</Longitude>
        <Elevation unit="METERS">{site.elevation}</Elevation> <Depth unit="METERS">{site.depth}</Depth>{direction}
        <SampleRate>{rate}</SampleRate>
        <Response>
          <InstrumentSensitivity><Value>1.0</Value> <Frequency>1.0</Frequency> {units}</InstrumentSensitivity>
          <Stage number="1">
            <PolesZeros>
              {units} <PzTransferFunctionType>LAPLACE (RADIANS/SECOND)</PzTransferFunctionType>
              <NormalizationFactor>1.0</NormalizationFactor> <NormalizationFrequency>1.0</NormalizationFrequency>
            </PolesZeros>
            <StageGain><Value>1.0</Value> <Frequency>1.0</Frequency></StageGain>
          </Stage>
        </Response>
      </Channel>
"""
DIRECTION = " <Azimuth>{}</Azimuth> <Dip>{}</Dip>"
UNITS = "<InputUnits><Name>{}</Name></InputUnits> <OutputUnits><Name>COUNTS</Name></OutputUnits>"


def is_xml(path) -> bool:
    """Whether a file begins as XML does."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        return file.read(4096).lstrip().startswith("<")


def read(path) -> Stations:
    """Read the stations of a file: a row for each sensor and epoch of a station."""
    return stations_of(read_with_obspy(path, "StationXML", "read_inventory"))


def stations_of(inventory) -> Stations:
    """Return the stations of an inventory of ObsPy, as of `read`."""
    return sensors(row for network in inventory for station in network for row in _rows(network, station))


def _rows(network, station):
    """Yield channels and rows for `sensors` of a station: of its seismic channels; its own where it has none."""
    channels = [c for c in station.channels if is_seismic(c.code)]
    for place in channels or [station]:
        begin = max(filter(None, (station.start_date, place.start_date)), default=None)
        end = min(filter(None, (station.end_date, place.end_date)), default=None)
        codes = network.code, station.code, getattr(place, "location_code", "")
        numbers = place.longitude, place.latitude, getattr(place, "depth", 0.0), station.elevation
        epoch = (None if time is None else time.timestamp for time in (begin, end))
        channel = "" if place is station else place.code
        yield channel, (*codes, *(float(value or 0.0) for value in numbers), *epoch)


def inventory(dataset, network="XX"):
    """Return the receivers and channels of waveforms (`craton.output.dataset.waveforms`, of one shot) as an obspy.Inventory.

    Receivers of a box that lies nowhere are laid about 0 N, 0 E at 111.195 km per degree; each station's comment gives x,
    y, z in metres and the receiver's name. Channels last as long as the record. Their response is flat with a sensitivity
    of 1: a sample is the quantity in SI units. `network` is the code of receivers without one.
    """
    obspy = library("obspy", "an obspy.Inventory")
    return obspy.read_inventory(BytesIO("".join(_lines(dataset, network)).encode()), format="STATIONXML")


def write(dataset, path, network="XX") -> bool:
    """Write receivers and channels, as `inventory` has them; False, with a warning in the log, where ObsPy is missing."""
    if not has_obspy(path):
        return False
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(_lines(dataset, network))
    return True


def _lines(dataset, network):
    """Yield the text of a file, element by element."""
    names = [(quantity, part) for quantity, part, _ in components(dataset.isel(time=slice(0, 0)))]
    dates = dict(zip(("begin", "end"), span(dataset)))
    networks = {}
    for site in sites(dataset, network):
        networks.setdefault(site.network, {}).setdefault(site.station, []).append(site)
    yield HEAD.format(created=datetime.now(UTC).isoformat())
    for code, stations in networks.items():
        yield NETWORK.format(code=code, **dates)
        for receivers in stations.values():
            yield _station(receivers[0], dates)
            for site in receivers:
                yield from (_channel(*name, dataset, site, dates) for name in names)
            yield "    </Station>\n"
        yield "  </Network>\n"
    yield "</FDSNStationXML>\n"


def _station(site, dates):
    """Return the start of the station of a receiver."""
    x, y, z = site.xyz
    return STATION.format(site=site, name=escape(site.name), x=x, y=y, z=z, **dates)


def _channel(quantity, component, dataset, site, dates):
    """Return the channel of one component, which has a direction where its receiver has a source."""
    interval = float(dataset.time.attrs["sampling_interval"])
    location, code = channel_code(quantity, component, interval, site)
    azimuth, dip = orientation(component, site)
    return CHANNEL.format(
        code=code,
        location=location,
        description=quantity.replace("_", " "),
        site=site,
        direction="" if azimuth is None else DIRECTION.format(azimuth, dip),
        rate=1.0 / interval,
        units=UNITS.format(CODES[quantity][2]),
        **dates,
    )
