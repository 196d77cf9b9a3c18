# What people type. Everything is built once, with one profile, in one target directory.
SHELL := /bin/bash
PROFILE ?= quick
TARGET := $(or $(CARGO_TARGET_DIR),target)
CARGO ?= cargo
# Which configuration the bench measures, and how many seconds each fuzz target runs.
SCENARIO ?= rs
FUZZ_SECONDS ?= 60
export FUZZ_SECONDS

.DEFAULT_GOAL := help
.PHONY: help run test build setup lint conformance api-test bench soak fuzz docs clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: build ## nginx with Weir on 127.0.0.1:8080 (WEIR_PORT) before a demo site; Ctrl-C stops it
	@exec $(TARGET)/$(PROFILE)/weir up

setup: ## install what is missing (apt-get) and configure nginx's sources
	@scripts/setup.sh

build: setup ## the module and the command
	$(CARGO) build --profile $(PROFILE) -p weir-cli -p weir-nginx

# Unit, property and integration tests of every crate, and the end-to-end and tidy tests in
# tests/, which start the module and the command that were just built. One build for all of it:
# `make build` leaves out what only tests need, which changes features of shared dependencies,
# and they would be compiled twice.
test: setup ## all tests, end to end too
	$(CARGO) build --profile $(PROFILE) --workspace --lib --bins --tests
	WEIR_MODULE=$(abspath $(TARGET)/$(PROFILE)/libngx_http_weir_module.so) \
	WEIR_BIN=$(abspath $(TARGET)/$(PROFILE)/weir) \
	$(CARGO) test --profile $(PROFILE) --workspace --no-fail-fast

lint: setup ## formatting, clippy, licences and advisories of dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile $(PROFILE) -- -D warnings
	@command -v cargo-deny >/dev/null || { echo "lint: installing cargo-deny"; $(CARGO) install --quiet --locked cargo-deny; }
	$(CARGO) deny check bans licenses sources
	@$(CARGO) deny check advisories || { echo "lint: advisories were not checked, or found something (see above)"; [ -z "$$CI" ]; }

# The cases are not part of this repository: CRS_TESTS and SECLANG_TESTS say where they are.
conformance: ## language vectors and CRS's own regression cases on nginx (CONFORMANCE_FLAGS)
	@scripts/setup.sh
	$(CARGO) build --profile $(PROFILE) -p weir-cli -p weir-nginx
	@CARGO="$(CARGO)" scripts/conformance.sh $(TARGET)/$(PROFILE)/weir $(PROFILE) $(CONFORMANCE_FLAGS)

api-test: build ## Schemathesis against the running API and its OpenAPI document (SCHEMATHESIS_SECONDS)
	@scripts/schemathesis.sh $(TARGET)/$(PROFILE)/weir

bench: ## measure against peers (SCENARIO=rs|growth|crs|differential|events|story1|story3|story5|profile)
	@scripts/setup.sh bench
	@[ $(SCENARIO) != story3 ] || scripts/nginx-package.sh
	$(CARGO) build --release -p weir-cli -p weir-nginx
	$(TARGET)/release/weir bench $(SCENARIO) $(BENCH_FLAGS)

soak: ## millions of requests and hundreds of reloads: nothing may grow
	@$(MAKE) --no-print-directory bench SCENARIO=soak

fuzz: ## every fuzz target for FUZZ_SECONDS (60) each
	@scripts/fuzz.sh

# CHECK=1 changes nothing and fails if a page is out of date.
docs: setup ## write docs/reference from the tables in the code
	$(CARGO) run --quiet --profile $(PROFILE) -p weir-cli -- docs $(if $(CHECK),--check)

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf .build
