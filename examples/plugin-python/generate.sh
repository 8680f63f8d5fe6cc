#!/bin/sh
# Makes the Python code of plugins/proto/method.proto: the messages with Debian's protoc,
# whose version goes with python3-protobuf, the service with python3-grpc-tools.
set -eu
cd "$(dirname "$0")"
proto=../../plugins/proto
python=/usr/bin/python3
if ! command -v protoc >/dev/null || ! $python -c 'import grpc_tools' 2>/dev/null; then
	echo 'generate: examples/plugin-python left as it is: apt-get install protobuf-compiler python3-grpc-tools' >&2
	exit 0
fi
protoc -I "$proto" --python_out=. method.proto
$python -m grpc_tools.protoc -I "$proto" --grpc_python_out=. method.proto
