# Everything runs in .venv; a second run needs no network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[charts,fast,test,lint]'
	touch $(STAMP)

.PHONY: venv
venv: $(STAMP)
