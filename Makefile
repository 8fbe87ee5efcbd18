# The commands of a checkout. `make demo` and `make test` need nothing but Python 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
RUNTIME := .venv/.runtime

.PHONY: install demo test lint bench clean

install: $(RUNTIME)

$(RUNTIME): pyproject.toml constraints.txt linter/fabriclint/__init__.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

# The broken sets are broken on purpose: the demo shows their findings and then that the correct sets have none.
demo: install
	$(BIN)/fabriclint check examples/gke-tcpxo/broken examples/eks-efa/broken examples/aks-ib/broken || test $$? -eq 1
	$(BIN)/fabriclint check examples/gke-tcpxo/correct examples/eks-efa/correct examples/aks-ib/correct

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check linter rules schemas tests benchmarks
	$(BIN)/ruff format --check linter rules schemas tests benchmarks
	$(BIN)/mypy linter rules schemas

bench: $(STAMP)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/sarif.py
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/cluster.py

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
