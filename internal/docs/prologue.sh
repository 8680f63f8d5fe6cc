# What every session starts with. The variables __page, __work, __bin and __root are set by the test.
unset BASH_ENV
set -E -o pipefail

# A failed command ends the session. 141 is a program that wrote to a pipe nobody reads any more, such as before head.
__error() {
	local code=$1 line=$2 command=$3
	((code == 141)) && return
	if [ -n "${__fails-}" ]; then
		__failed=1
		return
	fi
	printf '\n%s:%s: exit code %s: %s\n' "$__page" "$line" "$code" "$command" >>"$__work/problem"
	exit "$code"
}
trap '__error $? $LINENO "$BASH_COMMAND"' ERR

# Between these a command may fail, and one must.
__may_fail() { __fails=1 __failed=; }
__must_have_failed() {
	__fails=
	[ -n "$__failed" ] && return
	printf '\n%s:%s: the block is marked "fails", and nothing in it failed\n' "$__page" "$1" >>"$__work/problem"
	exit 1
}

# The output that follows belongs to a line of the page.
__at() { printf '\036%s\n' "$1"; }

# Wait for a line in the output of a process in the background.
__until() {
	local file=$__work/$1.out
	: >>"$file" # the process may not have made it yet
	if ! grep -q -m1 -F -e "$3" < <(tail --pid="$2" -n +1 -f "$file" 2>/dev/null); then
		printf '\n%s:%s: it ended and did not print "%s". It printed:\n%s\n' "$__page" "$1" "$3" "$(<"$file")" >>"$__work/problem"
		exit 1
	fi
}

# go build of programs of this module takes those that the test has built.
go() {
	local into=. folder main found=()
	if [ "$1" != build ] || [[ " $* " != *" ./"* ]] || [ -e go.mod ]; then
		command go "$@"
		# The module by its own name: what is compiled already need not be compiled again.
		if [ "$1 $2" = "mod edit" ]; then sed -i "s#$HOME/viaduct#$__root#" go.mod; fi
		return
	fi
	shift
	if [ "$1" = -o ]; then
		into=$2
		shift 2
	fi
	for folder; do
		folder=$__root/$folder
		[[ $folder == */... ]] && folder=${folder%...}*
		for main in $folder; do
			[ -x "$__bin/${main##*/}" ] && found+=("$__bin/${main##*/}")
		done
	done
	if [ ${#found[@]} = 0 ]; then
		echo "the test has built no program of $*: add it to the list in internal/docs/docs_test.go" >&2
		return 1
	fi
	case $into in */ | .) mkdir -p "$into" ;; esac
	ln -sf "${found[@]}" "$into"
}
