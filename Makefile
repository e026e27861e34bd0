# Everything a fresh machine needs is set up here, in a virtual environment of its own.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-all test-floors lint docs docs-links clean attack browser

demo: $(VENV)/demo
	$(BIN)/craton run examples/two_layers.toml -o demo-two-layers --force
	$(BIN)/craton plot demo-two-layers
	$(BIN)/craton report demo-two-layers

# What every change needs. Modules are compiled once, not by each of the processes that tests start; uv leaves that to the first import.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n 2 --dist worksteal
test: $(VENV)/dev
	$(PYTEST) -m "not long"

# Everything: before a release, and before an issue on numerics, kernels, ranks or files closes.
test-all: $(VENV)/test-all
	$(PYTEST)

# The lowest versions that pyproject.toml allows, on the lowest Python, in an environment of their own: a wave, gravity, reports.
FLOORS = build/floors
test-floors: $(VENV)/bin/python
	$(BIN)/pip install --quiet --only-binary :all: uv
	$(BIN)/uv venv --quiet --clear --python 3.11 $(FLOORS)
	$(BIN)/uv pip install --quiet --python $(FLOORS)/bin/python --resolution lowest-direct --only-binary :all: --no-binary craton \
		.[seis,plot,netcdf]
	$(FLOORS)/bin/craton run examples/two_layers.toml -o $(FLOORS)/wave --quiet --set time.duration=0.5
	$(FLOORS)/bin/craton run examples/seven_spheres.toml -o $(FLOORS)/gravity --quiet --set "prisms.shape=[70, 70, 10]"
	for run in wave gravity; do $(FLOORS)/bin/craton report $(FLOORS)/$$run && $(FLOORS)/bin/craton check $(FLOORS)/$$run || exit 1; done
	$(FLOORS)/bin/craton compare $(FLOORS)/wave $(FLOORS)/wave/waveforms.mseed

lint: $(VENV)/dev
	$(BIN)/ruff check src tests bench docs
	$(BIN)/ruff format --check src tests bench docs
	$(BIN)/mypy

# The site, in build/docs: gallery executed, no warning let through, then every link, script and picture looked at.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
	$(BIN)/python docs/check_site.py build/docs

# Links to other sites: needs a network.
docs-links: $(VENV)/docs
	$(BIN)/python -m sphinx -q -b linkcheck -d build/doctrees docs build/links

# g++ (or clang++) compiles the kernels; where there is none, apt or the ziglang wheel brings one.
$(VENV)/bin/python:
	command -v c++ || command -v g++ || command -v clang++ || (apt-get update && apt-get install -y g++) || true
	$(PYTHON) -m venv $(VENV) || (apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV))
	command -v c++ || command -v g++ || command -v clang++ || $(BIN)/pip install --quiet --only-binary :all: ziglang

# uv takes a sixth of pip's time for the same wheels; where it or its connection does not work, pip does the same.
$(VENV)/demo: EXTRAS = seis,plot
$(VENV)/dev: EXTRAS = dev
$(VENV)/test-all: EXTRAS = test-all
$(VENV)/demo $(VENV)/dev $(VENV)/test-all: $(VENV)/bin/python pyproject.toml
	($(BIN)/pip install --quiet --only-binary :all: uv && $(BIN)/uv pip install --quiet --python $(BIN)/python --only-binary :all: -e .[$(EXTRAS)]) \
		|| $(BIN)/pip install --quiet --prefer-binary -e .[$(EXTRAS)]
	touch $@

$(VENV)/docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --only-binary :all: --prefer-binary -e .[docs]
	touch $@

# A test opens pages of craton report in Chromium where there is one.
browser:
	command -v chromium || command -v google-chrome || (apt-get update && apt-get install -y --no-install-recommends chromium)

clean:
	rm -rf $(VENV) demo-two-layers build docs/generated

# Damaged inputs, damaged run folders and killed processes for an hour; bounded in memory, time and processes.
attack: $(VENV)/dev
	cd tests && ../$(BIN)/python -m attack inputs --seconds 1500 --seed $${SEED:-0} --keep attack-failures
	cd tests && ../$(BIN)/python -m attack folders --seconds 900 --seed $${SEED:-0}
	cd tests && ../$(BIN)/python -m attack kills --seconds 600 --seed $${SEED:-0}
	cd tests && ../$(BIN)/python -m attack survey --seconds 300
	cd tests && ../$(BIN)/python -m attack soak --seconds 300
