#!/usr/bin/env bash
# The main job, small: send the Go toolchain's own source tree from one process
# to another over via+shm, compare every file by SHA-256 in both directions, and
# print a ping-pong table. Needs Go, tar and coreutils. Exits non-zero if anything
# differs; cleans up, and ends only what it started.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'demo: %s\n' "$*"; }

receiver=
extractor=
work=$(mktemp -d)
cleanup() {
	status=$?
	trap - EXIT
	for process in $receiver $extractor; do
		kill "$process" 2>/dev/null || true
		wait "$process" 2>/dev/null || true
	done
	chmod -R u+w "$work" 2>/dev/null || true
	rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say 'building bin/bmi'
CGO_ENABLED=0 go build -o bin/bmi ./cmd/bmi

# The resolved path: a GOROOT may be a link, and tar and find do not follow one.
source=$(cd "$(go env GOROOT)/src" && pwd -P)
copy=$work/copy
address=via+shm://demo-$$
mkdir "$copy"

say "receiving at $address"
# Two processes and a named pipe instead of a pipeline, so that both have a process
# id and a status of their own.
mkfifo "$work/pipe"
./bin/bmi recv "$address" >"$work/pipe" &
receiver=$!
tar -x -f - -C "$copy" --no-same-owner <"$work/pipe" &
extractor=$!

say "sending $source"
tar -c -f - -C "$source" . | ./bin/bmi send "$address"
wait "$receiver" || { receiver=; say 'FAILED: the receiver ended with an error'; exit 1; }
receiver=
wait "$extractor" || { extractor=; say 'FAILED: tar could not unpack what was received'; exit 1; }
extractor=

# One line "SHA-256  ./path" per file, in one order.
sums() {
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}
sums "$source" >"$work/sent"
sums "$copy" >"$work/received"

sent=$(wc -l <"$work/sent")
received=$(wc -l <"$work/received")
missing=$(LC_ALL=C comm -23 <(LC_ALL=C sort "$work/sent") <(LC_ALL=C sort "$work/received") | wc -l)
surplus=$(LC_ALL=C comm -13 <(LC_ALL=C sort "$work/sent") <(LC_ALL=C sort "$work/received") | wc -l)
say "files sent $sent, received $received; missing or different $missing, not sent or different $surplus"
if [ "$sent" -eq 0 ] || [ "$missing" -ne 0 ] || [ "$surplus" -ne 0 ]; then
	diff "$work/sent" "$work/received" | head -n 20 || true
	say 'FAILED: what arrived is not what was sent'
	exit 1
fi
say 'every file arrived as it was sent'

say 'ping-pong between two processes (half round trip), beside the bare limits of this machine'
./bin/bmi perf via+shm -test limit,latency -size 0,8,64,1KiB,16KiB,64KiB,1MiB
