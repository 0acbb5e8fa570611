# Every target works on a fresh clone. `make help` lists them.

BINARY := $(or $(CARGO_TARGET_DIR),target)/release/recollect
# Retrieval sets for `make bench`: folders as `recollect eval --data` reads them, in one archive.
SETS ?= ../shared/data/retrieval.tar.gz

.DEFAULT_GOAL := help
.PHONY: run test web models bench lint help tools

run: models web ## fetch the models, build, and serve a sample at http://127.0.0.1:7979 (ARGS="--listen ..." is passed on)
	cargo build --release
	$(BINARY) serve --seed samples/starter $(ARGS)

test: models web ## run every test; the last lines say how many passed
	scripts/run-tests

web: tools ## build the playground, which the next build of the binary embeds
	scripts/build-web

models: tools ## fetch the embedding models and ONNX Runtime, once
	scripts/fetch-models

bench: models ## measure recall, latency and import on SETS and print tables
	cargo build --release
	@if [ -f "$(SETS)" ]; then scripts/bench "$(SETS)" --binary $(BINARY); \
	else echo "no sets at $(SETS); name an archive with: make bench SETS=FILE.tar.gz" >&2; exit 1; fi

lint: ## check the format and run clippy, warnings are errors
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

tools:
	@scripts/check-tools
