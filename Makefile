# Everything runs in .venv, which the first target to need it makes.  Wanted beforehand: make, and Python 3.11 or newer
# with its venv module (Debian: python3-venv).  Another Python: make test PYTHON=python3.12

PYTHON ?= python3
BIN = .venv/bin
READY = .venv/ready
T = tests

.PHONY: help demo test check check-audio check-match check-strip lint types bench bench-match bench-duplicates golden fixtures wheel clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile

demo: fixtures  ## what leakscan does, on made-up data, in about a minute
	@sh demo.sh

test: fixtures lint types  ## style, types and tests; one folder or file of tests: make test T=tests/test_layers.py
	$(BIN)/python -m pytest -n auto $(T)

check: fixtures check-audio  ## what takes longer: the demo, then the tests with many new random examples
	@sh demo.sh
	$(BIN)/python -m pytest -n auto --hypothesis-profile=long

check-audio: fixtures  ## 2,000 mutations of every audio container, 100 kills of `clean`
	$(BIN)/python -m pytest -n auto tests/formats/test_mutations.py --mutations 2000
	$(BIN)/python -m pytest -n auto tests/test_cleaning.py -k kill --kills 100

check-match: $(READY)  ## copies of 30 real recordings, which it fetches (160 MB, apt-get); some minutes
	$(BIN)/python benchmarks/check_match.py

check-strip: fixtures  ## exiftool, mediainfo and ffprobe over every stripped file; installs them (root, apt-get)
	$(BIN)/python benchmarks/strip_readers.py --install

lint: $(READY)  ## style
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)  ## types
	$(BIN)/mypy

bench: fixtures  ## speed and accuracy on made-up data
	$(BIN)/python benchmarks/gate.py
	$(BIN)/python benchmarks/extraction.py
	$(BIN)/python benchmarks/catalogue.py
	$(BIN)/python benchmarks/digest_proof.py
	$(BIN)/python benchmarks/strip.py
	$(BIN)/python benchmarks/strip.py --check-pcm

bench-match: $(READY)  ## matching on real music, which it fetches (550 MB); an hour and more; needs libchromaprint1
	$(BIN)/python benchmarks/corpus.py
	$(BIN)/python benchmarks/match.py
	$(BIN)/python benchmarks/load.py
	$(BIN)/python benchmarks/score.py
	$(BIN)/python benchmarks/chroma.py

bench-duplicates: $(READY)  ## repeats on the same music, scale, and peers, which it installs apart
	$(BIN)/python benchmarks/corpus.py
	$(BIN)/python benchmarks/duplicates.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/peers.py --install

golden: fixtures  ## renew the golden reports; read the diff before committing it
	$(BIN)/python -m pytest tests/test_golden.py --golden

fixtures: $(READY)  ## make the made-up data: audio and releases
	$(BIN)/python fixtures/make.py

wheel: $(READY)  ## dist/: the sdist and the wheel
	rm -rf build dist *.egg-info
	$(BIN)/python -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")'
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz

clean:  ## forget the environment and everything built
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Runs again only when setup.cfg or pyproject.toml changes.  The dev extra brings the ffmpeg that makes the fixtures;
# leakscan itself takes the system's if that computes fingerprints, else this one; doctor says so when neither does.
$(READY): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "leakscan needs Python 3.11 or newer, and $(PYTHON) is not; try: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@$(BIN)/leakscan doctor >.venv/doctor || { grep missing .venv/doctor >&2; exit 1; }
	@touch $(READY)
