# The commands of a checkout. `make demo` and `make test` need nothing but Python 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
RUNTIME := .venv/.runtime

.PHONY: install demo test lint docs bench clean

install: $(RUNTIME)

$(RUNTIME): pyproject.toml constraints.txt linter/fabriclint/__init__.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

# The broken sets are broken on purpose: one in full, with the lines and what to write, the others a line a finding.
# Then the correct sets, which have none. Exit code 1 is findings; another one ends the demo.
SHOWN := examples/gke-tcpxo/broken
demo: install
	$(BIN)/fabriclint check $(SHOWN) || test $$? -eq 1
	$(BIN)/fabriclint check -o concise $(filter-out $(SHOWN),$(wildcard examples/*/broken)) || test $$? -eq 1
	$(BIN)/fabriclint check $(wildcard examples/*/correct)

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check linter rules schemas tests benchmarks scripts
	$(BIN)/ruff format --check linter rules schemas tests benchmarks scripts
	$(BIN)/mypy linter rules schemas

# The pages and the picture that are made of the product itself; tests hold them.
docs: $(STAMP)
	$(BIN)/python scripts/write_rule_pages.py
	$(BIN)/python scripts/draw_run.py

bench: $(STAMP)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/sarif.py
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/cluster.py

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
