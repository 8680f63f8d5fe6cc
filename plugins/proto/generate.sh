#!/bin/sh
# Makes the Go code of method.proto, with the generators that go.mod names. protoc is
# Debian's protobuf-compiler.
set -eu
cd "$(dirname "$0")"
command -v protoc >/dev/null || { echo 'generate: no protoc (apt-get install protobuf-compiler)' >&2; exit 1; }
protoc --plugin="protoc-gen-go=$(go tool -n protoc-gen-go)" --plugin="protoc-gen-go-grpc=$(go tool -n protoc-gen-go-grpc)" \
	--go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative method.proto
