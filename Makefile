# The commands of daily work. Everything is built once, with one profile, in one target directory.
SHELL := /bin/bash
PROFILE ?= quick
TARGET := $(or $(CARGO_TARGET_DIR),target)
CARGO ?= cargo
# The scenario that `make bench` measures, and the seconds that each fuzz target runs.
SCENARIO ?= rs
FUZZ_SECONDS ?= 60
export FUZZ_SECONDS
# Always selected together, so that dependencies have the same features and are compiled once.
PROGRAMS := -p weir-cli -p weir-tools -p weir-nginx

.DEFAULT_GOAL := help
.PHONY: help run run-probe tools probe probe-check probe-test probe-jdks probe-beside probe-fuzz test test-more build dist setup lint conformance deliveries nonces interop interop-inspectors interop-messages messages-crowd interop-crowdsec api-test bench instructions soak fuzz asan miri abi nginx-tests docs cycles clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: build ## start nginx with Weir and a demo site on 127.0.0.1:8080 (WEIR_PORT); Ctrl-C stops it
	@exec $(TARGET)/$(PROFILE)/weir up

run-probe: build ## start a Java shop with the probe behind Weir (WEIR_PORT, WEIR_KAFKA=1); Ctrl-C stops it
	@scripts/setup.sh probe
	@exec scripts/run-probe.sh $(TARGET)/$(PROFILE)/weir

probe-check: build ## the same, which places a business and a shadow order, looks where they are, and stops
	@scripts/setup.sh probe
	@exec scripts/run-probe.sh $(TARGET)/$(PROFILE)/weir check

probe: ## build the Java probe: probe/agent/target/weir-probe.jar
	@scripts/setup.sh probe
	mvn -q -B -f probe package -DskipTests

probe-test: ## run all tests of the Java probe, with real servers, Kafka's included (WEIR_JDKS)
	@scripts/setup.sh probe
	WEIR_KAFKA_JARS=$$(scripts/kafka-jars.sh) mvn -B -f probe verify

probe-jdks: ## run them on JDK 8, 11, 21 and 25 (JDKS, WEIR_CYCLES)
	@scripts/setup.sh probe
	@scripts/probe-jdks.sh

probe-beside: ## run them beside OpenTelemetry's agent
	@scripts/setup.sh probe
	mvn -q -B -f probe/peers/tracers.xml package
	WEIR_BESIDE=$(abspath probe/peers/target/tracers/opentelemetry.jar) OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none \
	OTEL_LOGS_EXPORTER=none mvn -B -f probe verify -DexcludedGroups=slow

probe-fuzz: ## 100,000 random call graphs, half of them marked: is any shadow write in a business store? (WEIR_GRAPHS, WEIR_SEED)
	@scripts/setup.sh probe
	WEIR_GRAPHS=$${WEIR_GRAPHS:-100000} mvn -B -f probe verify -Dtest=CallGraphTest -Dsurefire.failIfNoSpecifiedTests=false

setup: ## install the packages that building and testing need (apt-get) and configure nginx's sources
	@scripts/setup.sh test

build: ## build the module and the command, quickly; for production see dist
	@scripts/setup.sh
	@scripts/build.sh $(TARGET)/$(PROFILE)/weir "the module and the command" \
	  $(CARGO) build --profile $(PROFILE) $(PROGRAMS) --lib --bin weir

tools: ## build weir-tools, which weir profile, diagnose, baseline and inspector need
	@scripts/setup.sh tools
	@scripts/build.sh $(TARGET)/$(PROFILE)/weir-tools "weir-tools" \
	  $(CARGO) build --profile $(PROFILE) $(PROGRAMS) --bin weir-tools

dist: ## build module, weir and weir-tools for production in target/dist, line tables in files beside them
	@scripts/setup.sh tools
	@MINUTES="more than 6" scripts/build.sh $(TARGET)/release/weir-tools "the release" \
	  $(CARGO) build --release $(PROGRAMS)
	@scripts/dist.sh $(TARGET)/release $(TARGET)/dist

# Unit, property and integration tests of every crate, and the end-to-end and tidy tests in
# tests/, which start the module and the command that were just built. One build covers all of them:
# `make build` leaves out dependencies that only tests need, which changes features of a few shared ones,
# so these and what uses them would be compiled twice.
test: setup ## run all tests, including the end-to-end tests; those of the Java probe without the slow ones
	@scripts/setup.sh probe
	@scripts/build.sh $(TARGET)/$(PROFILE)/deps "everything with its tests" \
	  $(CARGO) build --profile $(PROFILE) --workspace --lib --bins --tests
	@status=0; export WEIR_MODULE=$(abspath $(TARGET)/$(PROFILE)/libngx_http_weir_module.so) \
	  WEIR_BIN=$(abspath $(TARGET)/$(PROFILE)/weir); \
	set -x; mvn -B -f probe verify -DexcludedGroups=slow || status=$$?; \
	$(CARGO) test --profile $(PROFILE) --workspace --no-fail-fast || status=$$?; exit $$status

test-more: build ## run the tests that `make test` ignores for want of Chromium, Go and ModSecurity's nginx module
	@scripts/setup.sh more
	$(CARGO) test --profile $(PROFILE) -p weir-profile --test browser -- --ignored
	$(CARGO) test --profile $(PROFILE) -p weir-inspector --test service -- --ignored
	WEIR_MODULE=$(abspath $(TARGET)/$(PROFILE)/libngx_http_weir_module.so) WEIR_BIN=$(abspath $(TARGET)/$(PROFILE)/weir) \
	$(CARGO) test --profile $(PROFILE) -p weir-tests --test command -- --ignored

lint: setup ## check formatting, clippy, and licences and advisories of dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile $(PROFILE) -- -D warnings
	@command -v cargo-deny >/dev/null || { echo "lint: installing cargo-deny; this takes some minutes"; \
	  $(CARGO) install --quiet --locked --debug cargo-deny; }
	$(CARGO) deny check bans licenses sources
	@if $(CARGO) deny fetch db; then set -x; $(CARGO) deny check advisories; \
	else echo "lint: the database of advisories cannot be reached, so advisories are not checked"; fi

# The cases of CRS are not part of this repository: CRS_TESTS names their directory.
conformance: setup ## run SecLang's test vectors and CRS's regression cases on nginx (CONFORMANCE_FLAGS)
	$(CARGO) build --profile $(PROFILE) -p weir-bench -p weir-nginx
	@CARGO="$(CARGO)" scripts/conformance.sh $(TARGET)/$(PROFILE)/weir-bench $(PROFILE) $(CONFORMANCE_FLAGS)

deliveries: build ## send attacks in every delivery, and ask real backends which ones they read (DELIVERIES_FLAGS)
	@scripts/deliveries.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so $(DELIVERIES_FLAGS)

nonces: build setup ## send a million signed requests twice at once to four workers: each must pass once
	WEIR_MODULE=$(abspath $(TARGET)/$(PROFILE)/libngx_http_weir_module.so) \
	$(CARGO) test --profile $(PROFILE) -p weir-tests --test e2e -- --ignored --nocapture a_million_nonces

interop: build ## check requests that others' clients have signed (botocore, RFC 9421 and JWT libraries)
	@scripts/interop.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so

interop-inspectors: build tools ## check inspectors with others' servers (oauth2-proxy, Istio's ext_authz, CrowdSec AppSec)
	@scripts/interop-inspectors.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so $(TARGET)/$(PROFILE)/weir

interop-messages: build ## check messages with others' clients (Chromium, EventSource, websockets, wsproto, websocat, curl)
	$(CARGO) build --profile $(PROFILE) -p weir-messages --example wsdecode
	@CARGO="$(CARGO)" scripts/interop-messages.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so $(TARGET)/$(PROFILE)/weir \
	  $(TARGET)/$(PROFILE)/examples/wsdecode $(INTEROP_FLAGS)

messages-crowd: build setup ## 10,000 subscribers, 100 reloads and 50 kills of workers, and a checker of what everybody got (WEIR_CROWD)
	@WEIR_CROWD="$${WEIR_CROWD:-10000 100 50 3}" $(CARGO) test --profile $(PROFILE) -p weir-tests --test e2e -- --nocapture messages_crowd

interop-crowdsec: build tools ## take decisions over from a real CrowdSec, which is downloaded (Debian)
	@CARGO="$(CARGO)" PROFILE=$(PROFILE) scripts/crowdsec.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so $(TARGET)/$(PROFILE)/weir

api-test: build ## test the API against its OpenAPI document with Schemathesis (SCHEMATHESIS_SECONDS)
	@scripts/schemathesis.sh $(TARGET)/$(PROFILE)/weir

bench: ## measure Weir beside other products (SCENARIO=rs|growth|crs|hostile|differential|events|files|lua-waf|no-keepalive|table-sort|signature|inspect|messages|probe|linkagent|profile)
	@scripts/setup.sh bench
	@case $(SCENARIO) in no-keepalive | story3) scripts/nginx-package.sh ;; probe | linkagent | story2) scripts/probe-bench.sh ;; esac
	$(CARGO) build --release -p weir-bench -p weir-cli -p weir-tools -p weir-nginx
	$(TARGET)/release/weir-bench $(SCENARIO) $(BENCH_FLAGS)

instructions: setup ## count instructions per request in the engine (valgrind), independent of the machine's load
	@scripts/callgrind.sh

soak: ## check that nothing grows over millions of requests and hundreds of reloads
	@$(MAKE) --no-print-directory bench SCENARIO=soak

fuzz: ## run every fuzz target for FUZZ_SECONDS (60)
	@scripts/fuzz.sh

# The test suite is not part of this repository: NGINX_TESTS names a checkout of it.
nginx-tests: setup ## run nginx's own test suite and h2spec on nginx alone and with Weir (NGINX_TESTS)
	$(CARGO) build --profile $(PROFILE) --workspace --lib --bins --tests
	@scripts/nginx-tests.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so $(TARGET)/$(PROFILE)/weir

asan: setup ## run the end-to-end tests with AddressSanitizer in nginx and module (ASAN_TESTS, nightly Rust)
	$(CARGO) build --profile $(PROFILE) --workspace --lib --bins --tests
	@PROFILE=$(PROFILE) scripts/asan.sh $(ASAN_TESTS)

miri: ## run tests of unsafe code under Miri (nightly Rust)
	@scripts/miri.sh

abi: setup ## check that the module refuses nginx if its structures differ
	$(CARGO) build --profile $(PROFILE) --workspace --lib --bins --tests
	@scripts/abi.sh $(TARGET)/$(PROFILE)/libngx_http_weir_module.so

# With CHECK=1, change nothing and fail if a page is out of date.
docs: setup ## generate docs/reference from the tables in the code, the crates in ARCHITECTURE.md, and tables of figures
	$(CARGO) run --quiet --profile $(PROFILE) -p weir-tools -- docs $(if $(CHECK),--check)
	$(if $(CHECK),$(CARGO) test --quiet,$(CARGO) run --quiet) --profile $(PROFILE) -p weir-tidy $(if $(CHECK),,-- documents)

cycles: ## print the cycles of source files that use each other, per crate
	@$(CARGO) run --quiet --profile $(PROFILE) -p weir-tidy -- cycles

clean: ## remove all build outputs
	$(CARGO) clean
	rm -rf .build
