"""Two layers with an anomaly, sources inside and on top, every kind of boundary: what machines and ranks are tried on."""

SCENARIO = """
[domain]
origin = [0, 0, {bottom}]
size = [{x}, {y}, {z}]
spacing = 100
[model]
kind = "layers"
layers = [{{ top = 0, vp = 3000, vs = 1700, rho = 2100 }}, {{ top = -450, vp = 4200, vs = 2400, rho = 2500, vp_gradient = 0.3 }}]
anomalies = [{{ shape = "sphere", center = [1200, 1300, -900], radius = 400, dvs = -0.2 }}]
{model}
[time]
duration = 1.0
[boundaries]
{boundaries}
cpml = {{ thickness = 5, kappa_max = 2 }}
sponge = {{ thickness = 4 }}
[[source]]
kind = "moment_tensor"
at = [{middle}, 1180, -310]
tensor = {{ xx = 1e12, zz = -2e12, xy = 5e11, yz = 3e11 }}
wavelet = {{ kind = "gaussian", tau = 0.02 }}
[[source]]
kind = "force"
at = [900, 1500, 0]
force = [1e8, 2e8, -1e8]
wavelet = {{ kind = "ricker", frequency = 6 }}
{source}
[[receivers]]
name = "R"
line = {{ from = [600, 700, 0], to = [2050, 1800, -750], count = 4 }}
{receivers}
[output]
waveforms = ["velocity", "pressure", "strain_rate", "rotation_rate"]
[run]
order = {order}
precision = "{precision}"
{run}
"""
FREE = 'top = "free"\nothers = "cpml"'
BOUNDARIES = {
    "free and absorbing": FREE,
    "periodic sides": 'top = "free"\nbottom = "cpml"\nwest = "periodic"\neast = "periodic"\nsouth = "periodic"\nnorth = "periodic"',
    "rigid and damped": 'top = "periodic"\nbottom = "periodic"\nwest = "rigid"\neast = "sponge"\nsouth = "cpml"\nnorth = "rigid"',
    "one-way": 'top = "free"\nothers = "a1"',
    "rigid above": 'top = "rigid"\nbottom = "sponge"\nwest = "sponge"\neast = "rigid"\nsouth = "periodic"\nnorth = "periodic"',
}


def text(kind="free and absorbing", order=4, precision="float32", x=2700, y=2500, z=2300, middle=1230, **more):
    """A scenario of 28 x 26 x 24 points, or another size."""
    more = {"model": "", "source": "", "receivers": "", "run": ""} | more
    return SCENARIO.format(
        boundaries=BOUNDARIES[kind], order=order, precision=precision, x=x, y=y, z=z, bottom=-z, middle=middle, **more
    )
