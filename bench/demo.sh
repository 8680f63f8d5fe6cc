#!/usr/bin/env bash
# The main job, small. A parallel file system: two servers, into which a tree of Go's own sources
# is copied over via+shm and out of which it is copied over tcp. Then the same tree
# from one process to another, over via+shm, in the processes and once more in a plugin of each, then
# over tcp and over via+udp on loopback, the last encrypted with a key made for the
# run. Every file is compared by SHA-256, in both directions. Then an MPI program: four
# processes compute how a plate warms up, and compare it bit for bit with what one
# process computes. Last, a ping-pong table of each method. Needs Go, tar and coreutils.
# Exits non-zero if anything differs; cleans up, and ends only the processes it started.
set -euo pipefail
cd "$(dirname "$0")/.."

# say prints a line with the seconds since the start.
say() { printf 'demo: %3d s: %s\n' "$SECONDS" "$*"; }

receiver=
extractor=
servers=()
work=$(mktemp -d)
cleanup() {
	status=$?
	trap - EXIT
	for process in $receiver $extractor "${servers[@]}"; do
		kill "$process" 2>/dev/null || true
		wait "$process" 2>/dev/null || true
	done
	chmod -R u+w "$work" 2>/dev/null || true
	rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

say 'compiling, which takes longest the first time: bin/pvfs, bin/pvfsd, bin/bmi, a plugin, and an MPI program with its launcher'
# With profiles, everything would be compiled once more for each command that has one.
CGO_ENABLED=0 go build -pgo=off -o bin/ ./cmd/pvfs ./cmd/pvfsd ./cmd/bmi ./cmd/bmi-method-via ./cmd/mpiexec ./examples/mpi/heat ||
	{ say "FAILED: these do not compile; ${TMPDIR:-/tmp} has $(df -h --output=avail "${TMPDIR:-/tmp}" | tail -n 1 | tr -d ' ') of room, and go may need 1G there"; exit 1; }
bmi=(./bin/bmi)
with_plugin=(./bin/bmi plugins run bin/bmi-method-via --)

# The resolved path: a GOROOT may be a link, and tar and find do not follow one.
source=$(cd "$(go env GOROOT)/src/internal" && pwd -P)

# One line "SHA-256  ./path" per file, sorted.
sums() {
	(cd "$1" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum)
}

# free_port prints a free port of loopback, below those that the kernel gives to
# clients. A port that TCP does not use may be used by UDP; then the receiver fails
# with a message.
free_port() {
	local port
	for _ in {1..100}; do
		port=$((20000 + RANDOM % 12000))
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	say 'FAILED: no free port on loopback' >&2
	return 1
}

# compare FOLDER: fails unless it holds the same files as the source, and no others.
compare() {
	sums "$1" >"$work/received"
	local sent received missing surplus
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
}

# transfer ADDRESS: sends the source through a receiver at the address, and
# compares the files that arrived.
transfer() {
	local address=$1 copy=$work/copy pipe=$work/pipe
	mkdir "$copy"
	say "receiving at $address"
	# Two processes and a named pipe instead of a pipeline, so that both have a
	# process id and a status of their own.
	mkfifo "$pipe"
	"${bmi[@]}" recv "$address" >"$pipe" &
	receiver=$!
	tar -x -f - -C "$copy" --no-same-owner <"$pipe" &
	extractor=$!

	say "sending $source"
	tar -c -f - -C "$source" . | "${bmi[@]}" send "$address"
	wait "$receiver" || { receiver=; say 'FAILED: the receiver ended with an error'; exit 1; }
	receiver=
	wait "$extractor" || { extractor=; say 'FAILED: tar could not unpack what was received'; exit 1; }
	extractor=
	compare "$copy"
	chmod -R u+w "$copy"
	rm -rf "$copy" "$pipe"
}

# serve ALIAS: starts a server of the file system of fs.conf, and waits until it listens.
serve() {
	local alias=$1 log=$work/pvfsd-$1.log
	./bin/pvfsd serve --config "$work/fs.conf" --key-file "$work/fs.key" --alias "$alias" --create 2>"$log" &
	local server=$!
	servers+=("$server")
	until grep -q "serves" "$log"; do
		if ! kill -0 "$server" 2>/dev/null; then
			cat "$log" >&2
			say "FAILED: server $alias ended"
			exit 1
		fi
		sleep 0.05
	done
}

# timed COMMAND...: runs it, and prints the rate in bytes of the source a second.
timed() {
	local start end
	start=$(date +%s%N)
	"$@"
	end=$(date +%s%N)
	awk -v bytes="$bytes" -v files="$(wc -l <"$work/sent")" -v ns=$((end - start)) \
		'BEGIN { printf "demo:        %d files, %.0f MB in %.2f s: %.1f MB/s, %.0f files/s\n", files, bytes/1e6, ns/1e9, bytes/1e6/(ns/1e9), files/(ns/1e9) }'
}

# file_system: two servers, the source in over via+shm and out over tcp.
file_system() {
	local a b copy=$work/copy
	a=$(free_port)
	b=$(free_port)
	while [ "$b" = "$a" ]; do b=$(free_port); done
	./bin/pvfsd genconfig -o "$work/fs.conf" --dir "$work/storage" --no-sync-meta \
		"a=tcp://127.0.0.1:$a,via+shm://demo-a-$$" "b=tcp://127.0.0.1:$b,via+shm://demo-b-$$"
	mkdir "$work/storage"
	serve a
	serve b
	say "two servers listen at tcp://127.0.0.1:$a and :$b, and over via+shm"
	say "copying $source in, over via+shm"
	timed ./bin/pvfs --fs "via+shm://demo-a-$$/pvfs2-fs" cp -r --quiet "$source" :/src
	say 'copying it out, over tcp'
	timed ./bin/pvfs --fs "tcp://127.0.0.1:$b/pvfs2-fs" cp -r --quiet :/src "$copy"
	compare "$copy"
	rm -rf "$copy"
	./bin/pvfs --fs "tcp://127.0.0.1:$a/pvfs2-fs" df
	local server
	for server in "${servers[@]}"; do
		kill "$server"
		wait "$server" || { say 'FAILED: a server did not end in good order'; exit 1; }
	done
	servers=()
	say 'looking at the stores of both servers'
	./bin/pvfsd check --all --config "$work/fs.conf"
	rm -rf "$work/storage"
}

# heat METHOD: the plate on four processes, with a method for their messages.
heat() {
	say "heat on a plate: 4 processes over $1"
	MPI_METHOD=$1 ./bin/mpiexec --no-label --timeout 2m -n 4 ./bin/heat -check -out "$work/heat.png" | tee "$work/heat" ||
		{ say 'FAILED: the processes ended with an error'; exit 1; }
	grep -qx 'heat: the same as the serial solution, bit for bit' "$work/heat" ||
		{ say 'FAILED: nothing was compared with the serial solution'; exit 1; }
	[ -s "$work/heat.png" ] || { say 'FAILED: there is no picture'; exit 1; }
	say "the plate is what one process computes; its picture has $(wc -c <"$work/heat.png") bytes"
}

sums "$source" >"$work/sent"
bytes=$(cd "$source" && find . -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
file_system
transfer "via+shm://demo-$$"
say 'the same with via+shm in processes of its own: a plugin on each side'
bmi=("${with_plugin[@]}")
transfer "via+shm://demo-plugin-$$"
bmi=(./bin/bmi)
port=$(free_port)
transfer "tcp://127.0.0.1:$port"

# The key is in a file that only we can read, and goes with the work folder.
(umask 077; head -c 32 /dev/urandom | base64 >"$work/key")
export VIADUCT_UDP_KEY_FILE=$work/key
unset VIADUCT_UDP_KEY VIADUCT_UDP_INSECURE
port=$(free_port)
transfer "via+udp://127.0.0.1:$port"

heat via+shm
heat tcp

say 'ping-pong between two processes (half round trip), beside the bare limits of this machine'
./bin/bmi perf via+shm --tests limit,latency --sizes 0,8,64,1KiB,16KiB,64KiB,1MiB
say 'the same with via+shm in plugins'
"${with_plugin[@]}" perf via+shm --tests latency --sizes 0,8,64,1KiB,16KiB,64KiB,1MiB
say 'the same over tcp on loopback, beside a bare socket'
./bin/bmi perf tcp --tests limit,latency --sizes 8,1KiB,64KiB,1MiB
say 'the same over UDP on loopback, encrypted, beside a bare UDP socket'
./bin/bmi perf via+udp --tests limit,latency --sizes 8,1KiB,64KiB,1MiB
