#!/usr/bin/env bash
# Checks the Promela models of this folder with spin: every state is visited,
# no assertion fails, nothing deadlocks, everything settles; and each error that
# a model can plant is found. Exits non-zero otherwise. Needs spin and gcc.
#
#   run.sh        what CI runs, one to two minutes
#   run.sh deep   larger bounds, some minutes and gigabytes
#
# What it says is kept in ~/.cache/viaduct-tests, and said again while the models and the tools are the same.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in spin gcc; do
	command -v "$tool" >/dev/null || { echo "run.sh: $tool is not installed (Debian: apt-get install spin gcc)" >&2; exit 1; }
done

memory_mib=1000 seconds=60 # of processor time, per search
if [ "${1-}" = deep ]; then memory_mib=8000 seconds=1800; fi

# A search that visits everything is worth a slower compilation, one that stops
# at a planted error is not.
optimise=-O1

# build MODEL safety|settles DEFINES... makes $work/pan.
build() {
	local model=$1 kind=$2
	shift 2
	rm -rf "$work"/*
	cp "$here/$model" "$work/"
	(
		cd "$work"
		spin -a "$@" "$model" >spin.log 2>&1 || { cat spin.log >&2; exit 1; }
		local flags=("$optimise" -w -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=$memory_mib)
		if [ "$kind" = safety ]; then flags+=(-DSAFETY -DNOCLAIM); fi
		gcc "${flags[@]}" -o pan pan.c
	)
}

# search KIND runs pan; what it says is in $work/pan.log.
search() {
	local flags=(-m20000)
	if [ "$1" = settles ]; then flags+=(-a); fi
	(cd "$work" && ulimit -t "$seconds" && ./pan "${flags[@]}" >pan.log 2>&1) || true
}

states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/pan.log" | head -n 1; }

# holds MODEL KIND DEFINES... fails unless the whole search finds no error.
holds() {
	build "$@"
	search "$2"
	if ! grep -q 'errors: 0' "$work/pan.log" || grep -qi -e 'search not completed' -e 'depth too small' "$work/pan.log"; then
		echo "FAIL  $*" >&2
		grep -v unreached "$work/pan.log" | tail -n 30 >&2
		if [ -f "$work/$1.trail" ]; then (cd "$work" && spin -t -p "${@:3}" "$1" | tail -n 60) >&2; fi
		exit 1
	fi
	echo "ok    $*: $(states) states"
}

# finds MODEL BUG DEFINES... fails unless the planted error is found.
finds() {
	local model=$1 bug=$2
	shift 2
	build "$model" safety -DBUG="$bug" "$@"
	search safety
	if ! grep -q 'errors: 1' "$work/pan.log"; then
		echo "FAIL  $model: planted $bug was not found" >&2
		tail -n 30 "$work/pan.log" >&2
		exit 1
	fi
	echo "ok    $model: $bug is found: $(sed -n 's/^pan:[0-9]*: \(.\{1,60\}\).*/\1/p' "$work/pan.log" | head -n 1)"
}

bugs() { sed -n 's/^#define \(BUG_[A-Z_]*\) .*/\1/p' "$here/$1"; }

all() {
	holds connect.pml safety -DFAULTS=2 -DATTEMPTS=4
	holds connect.pml settles -DFAULTS=1 -DATTEMPTS=3
	holds credits.pml safety
	holds credits.pml settles -DMESSAGES=2 -DCONTROLS=1
	holds bulk.pml safety
	holds wait.pml safety
	holds wait.pml safety -DWATCHER=1 -DCALLERS=1
	if [ "${1-}" = deep ]; then
		holds connect.pml safety -DFAULTS=3 -DATTEMPTS=5
		holds connect.pml safety -DFAULTS=2 -DATTEMPTS=4 -DSENDS=2
		holds credits.pml safety -DGRANTED=8 -DCONTROL_RESERVE=3 -DCONTROLS=2
		holds bulk.pml safety -DSIZE=12
		holds wait.pml safety -DWATCHER=1
		holds wait.pml safety -DCALLERS=3
	fi
	optimise=-O0
	for model in connect.pml credits.pml bulk.pml; do
		for bug in $(bugs "$model"); do finds "$model" "$bug" -DFAULTS=1 -DATTEMPTS=3; done
	done
	for bug in $(bugs wait.pml); do
		case $bug in
		BUG_WAKE_LOST | BUG_NO_STEP_BACK | BUG_NO_RESUME) finds wait.pml "$bug" -DWATCHER=1 -DCALLERS=1 ;;
		*) finds wait.pml "$bug" ;;
		esac
	done
}

same=$(cat "$here"/*.pml "$here/run.sh" <(spin -V; gcc --version) | sha256sum)
kept=${XDG_CACHE_HOME:-${HOME-$work}/.cache}/viaduct-tests/models-${same:0:16}${1+-$1}
if [ -e "$kept" ]; then
	cat "$kept"
	echo "models: nothing has changed since these held; $kept has what was said then"
	exit
fi
mkdir -p "$(dirname "$kept")"
all "$@" | tee "$kept.part"
mv "$kept.part" "$kept"
