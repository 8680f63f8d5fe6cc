#!/usr/bin/env bash
# Builds the programs of the comparison and runs it; options are passed on (see
# bin/bench -help). Results go to docs/performance.
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go build -o bin/bmi ./cmd/bmi
CGO_ENABLED=0 go build -o bin/bmi-method-via ./cmd/bmi-method-via
CGO_ENABLED=0 go build -o bin/ ./cmd/mpiexec ./cmd/mpibench ./examples/mpi/samplesort ./examples/mpi/heat ./examples/mpi/hello
CGO_ENABLED=0 go build -o bin/ ./cmd/pvfs ./cmd/pvfsd
CGO_ENABLED=0 go build -C bench/plot -o ../../bin/plot .
# It exchanges messages itself, too, so it is compiled as mpibench is.
CGO_ENABLED=0 go build -pgo=cmd/mpibench/default.pgo -o bin/bench ./bench
exec bin/bench "$@"
