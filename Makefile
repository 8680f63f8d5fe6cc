# Viaduct. `make` lists what there is; .ci/run calls the same targets.

GO       ?= go
HOURS    ?= 2
ROUNDS   ?= 20
LOAD     ?= 8

MODULE := github.com/viaduct-hpc/viaduct

# Parts with go.mod files of their own, so that programs that import Viaduct do not know what these need.
MODULES := bench/plot tools/browser tools/dist tools/grafana

# What tests and measures. make tools tests it, and make test the rest.
TOOLS := bench tools

# root needs no sudo, and a small machine may have none.
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.DEFAULT_GOAL := help
.PHONY: help build pmix dist demo test race tools slow flake soak hosts bench bench-deps profile terminal lint model generate ci clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

# With the profiles of bmi and mpibench, everything would be compiled once more for each.
build: ## build the commands into bin/ (make dist: with profiles)
	CGO_ENABLED=0 $(GO) build -pgo=off -o bin/ ./cmd/...

pmix: ## build bin/viaduct-pmix, which joins jobs of launchers with PMIx; needs a C compiler and libpmix-dev
	$(MAKE) -C cmd/viaduct-pmix OUTPUT=$(CURDIR)/bin/viaduct-pmix

dist: ## make static binaries, packages, container images, manual pages and completions of the commit into out/dist; ARCH=arm64: for one processor; QUICK=1: without profiles
	$(GO) -C tools/dist run . --source $(CURDIR) --output $(CURDIR)/out/dist $(if $(ARCH),--arch $(ARCH)) $(if $(QUICK),--quick)

demo: ## copy a tree of Go sources into a file system and out, send it between two processes, run an MPI program on four, print a ping-pong table
	./bench/demo.sh

test: ## run the fast tier of tests; docs/internals/testing.md says what is in it
	CGO_ENABLED=0 $(GO) run ./tools/checks fast $(TOOLS:%=--without %)

race: ## run the packages of the fast tier that have goroutines or locks with the race detector; needs a C compiler
	$(GO) run ./tools/checks fast --race

# The modules not from the cache: go test sees no change outside a module, and what they test is the tree around them.
tools: ## run the tests of what tests and measures: bench, tools, and the modules in them
	CGO_ENABLED=0 $(GO) run ./tools/checks fast $(TOOLS)
	$(foreach m,$(MODULES),CGO_ENABLED=0 $(GO) test -C $(m) -short -count=1 ./... &&) true

slow: ## run the fast tier and list what takes longest
	$(GO) run ./tools/checks slow

flake: ## run the fast tier ROUNDS (20) times beside LOAD (8) busy processes, and list what did not pass every time
	$(GO) run ./tools/checks flake --rounds $(ROUNDS) --load $(LOAD)

soak: ## run everything at full length, then fresh seeds, fuzzing and load, for HOURS (2); ONLY=seeds,fuzz picks stages
	$(GO) run ./tools/checks soak --hours $(HOURS) $(if $(ONLY),--only $(ONLY))

hosts: ## run the tests that need several hosts, but those of bench; they fail where namespaces are not allowed
	VIADUCT_MUST=namespaces,ip $(GO) test -count=1 -timeout=5m $$($(GO) list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... \
		| grep '^[^ ]*\.test ' | grep -E ' $(MODULE)/internal/netns( |$$)' | sed 's/\.test .*//' | grep -v '/bench$$')

bench: ## measure beside other libraries and write docs/performance
	./bench/run.sh

terminal: ## record the terminal of README.md: run the commands of docs/guides/terminal.md and draw docs/guides/terminal.svg (needs root)
	$(GO) run ./tools/record docs/guides/terminal.md docs/guides/terminal.svg

bench-deps: ## install what bench compares with (Debian)
	$(SUDO) apt-get update -q
	$(SUDO) apt-get install -qy --no-install-recommends openmpi-bin libopenmpi-dev mpich libmpich-dev ucx-utils libucx-dev libfabric-bin

profile: ## take the profiles that the compiler optimises cmd/bmi and cmd/mpibench by (default.pgo), from benchmarks
	$(GO) test ./methods/via -run '^$$' -bench '^Benchmark(Message|Burst)$$' -benchtime 5s -cpuprofile cmd/bmi/default.pgo -o /dev/null
	$(GO) test ./mpi -run '^$$' -bench '^Benchmark(PingPong|Rate|Barrier|Allreduce)$$' -benchtime 5s -count 4 -cpuprofile mpi.pgo -o /dev/null
	$(GO) tool pprof -proto mpi.pgo cmd/bmi/default.pgo > cmd/mpibench/default.pgo
	rm mpi.pgo

# The product is built without cgo, and so is what the tests without the race detector test.
# Profile-guided optimisation would compile all dependencies once more for each profile.
lint: export CGO_ENABLED = 0
lint: export GOFLAGS := $(GOFLAGS) -pgo=off
lint: ## formatting, vet, staticcheck, go.mod, generated files, known vulnerabilities, exported names, words of the documentation
	@echo 'lint: gofmt'; bad=$$(gofmt -l .); test -z "$$bad" || { echo "run gofmt -w on:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	staticcheck=$$($(GO) tool -n staticcheck); for m in $(MODULES); do \
		(cd $$m && $(GO) vet ./... && $$staticcheck ./... && $(GO) mod tidy -diff) || exit 1; done
	@set -eu; echo 'lint: generated files'; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	git ls-files -z | tar c --null -T - | tar x -C "$$copy"; (cd "$$copy" && $(GO) generate ./...); \
	bad=; for file in $$(git grep -lE '^(// Code generated|# Generated by) .* DO NOT EDIT[.!]$$' -- '*.go' '*.py'); do \
		cmp "$$file" "$$copy/$$file" || bad=1; done; \
	test -z "$$bad" || { echo 'lint: out of date: run make generate and commit'; exit 1; }
	$(GO) run ./tools/checks vulns ./...
	$(GO) run ./tools/checks api
	$(GO) run ./tools/checks words

model: ## check the Promela models of the protocols with spin
	@command -v spin >/dev/null || { echo 'model: spin is missing: apt-get install spin'; exit 1; }
	./docs/internals/models/run.sh

generate: ## regenerate what is generated (String methods, the control service of plugins)
	$(GO) generate ./...

ci: ## everything that must hold before a merge
	./.ci/run

clean: ## remove what the targets above leave behind
	rm -rf bin out
