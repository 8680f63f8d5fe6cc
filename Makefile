# Viaduct. `make` lists what there is; .ci/run calls the same targets.

GO       ?= go
SEEDS    ?= 200
FUZZTIME ?= 30s
# Fuzz targets that run side by side, one processor each.
FUZZJOBS ?= 2

MODULE := github.com/viaduct-hpc/viaduct

# The race detector needs cgo, and cgo a C compiler: go env says 0 without one.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

# root needs no sudo, and a small machine may have none.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.DEFAULT_GOAL := help
.PHONY: help build demo test bench bench-deps profile sim fuzz lint model generate ci clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

build: ## build the commands into bin/
	CGO_ENABLED=0 $(GO) build -o bin/ ./cmd/...

demo: ## send the Go source tree between two processes, compare it, print a ping-pong table
	./bench/demo.sh

test: ## vet and run all tests, with the race detector where there is a C compiler
	@$(if $(RACE),,echo 'test: without the race detector: cgo is off or there is no C compiler (apt-get install gcc)')
	$(GO) vet ./...
	$(GO) test $(RACE) -timeout=15m ./...

bench: ## measure beside other libraries and write docs/performance
	./bench/run.sh

bench-deps: ## install what bench compares with (Debian)
	$(SUDO) apt-get update -q
	$(SUDO) apt-get install -qy --no-install-recommends openmpi-bin libopenmpi-dev mpich libmpich-dev ucx-utils libucx-dev libfabric-bin

profile: ## take the profile that the compiler optimises cmd/bmi by (default.pgo), from BenchmarkMessage
	$(GO) test ./methods/via -run '^$$' -bench '^BenchmarkMessage$$' -benchtime 5s -cpuprofile cmd/bmi/default.pgo -o /dev/null

# Every package whose tests reach internal/sim knows the flag -sim.seeds.
sim: ## run the simulated tests with SEEDS seeds each (200)
	@set -eu; \
	packages=$$($(GO) list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... \
		| grep '^[^ ]*\.test ' | grep -E ' $(MODULE)/internal/sim( |$$)' | sed 's/\.test .*//'); \
	test -n "$$packages" || { echo 'sim: no package uses internal/sim'; exit 1; }; \
	set -x; \
	$(GO) test -count=1 -timeout=15m $$packages -sim.seeds=$(SEEDS)

# One line "folder target" for each; a failing one prints its output.
fuzz: ## run every fuzz target for FUZZTIME (30s), FUZZJOBS (2) at a time
	@set -eu; \
	targets=$$(grep -rE '^func Fuzz[A-Za-z0-9_]*\(' --include='*_test.go' . \
		| sed -nE 's,^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*)\(.*,\1 \2,p' | sort); \
	test -n "$$targets" || { echo 'fuzz: no targets'; exit 1; }; \
	echo "fuzz: $$(echo "$$targets" | wc -l) targets, $(FUZZTIME) each, $(FUZZJOBS) at a time"; \
	echo "$$targets" | xargs -P $(FUZZJOBS) -L 1 sh -c ' \
		if out=$$($(GO) test -run "^$$" -fuzz "^$$2\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s -parallel 1 "$$1" 2>&1); \
		then echo "fuzz: ok   $$1 $$2 ($$(echo "$$out" | sed -nE "s/.* (execs: [0-9]+).*/\1/p" | tail -n 1))"; \
		else echo "$$out"; echo "fuzz: FAIL $$1 $$2"; exit 1; fi' fuzz

lint: ## formatting, vet, staticcheck, go.mod, generated files, known vulnerabilities
	@echo 'lint: gofmt'; bad=$$(gofmt -l .); test -z "$$bad" || { echo "run gofmt -w on:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	@set -eu; echo 'lint: generated files'; old=$$(mktemp -d); trap 'rm -rf "$$old"' EXIT; \
	grep -rlE '^// Code generated .* DO NOT EDIT\.$$' --include='*.go' . | sort > "$$old/list"; \
	tar cf "$$old/files.tar" -T "$$old/list"; \
	$(GO) generate ./...; \
	if tar df "$$old/files.tar" 2>&1 | grep -E 'Contents differ|Size differs'; then \
		echo 'lint: out of date; they are regenerated now, commit them'; exit 1; fi
	@if command -v govulncheck >/dev/null; then echo 'lint: govulncheck'; govulncheck ./...; \
	else echo 'lint: govulncheck skipped: not on PATH (go install golang.org/x/vuln/cmd/govulncheck@latest)'; fi

model: ## check the Promela models of the protocols with spin
	@command -v spin >/dev/null || { echo 'model: spin is missing: apt-get install spin'; exit 1; }
	./docs/models/run.sh

generate: ## regenerate what is generated (String methods)
	$(GO) generate ./...

ci: ## everything that must hold before a merge
	./.ci/run

clean: ## remove what the targets above leave behind
	rm -rf bin out
