package pvfs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/rpc"
)

// Exit codes of the pvfs command. They are part of its interface: scripts rely on them, and
// the help text lists them.
const (
	ExitOK          = 0
	ExitFailed      = 1   // anything that has no code of its own
	ExitUsage       = 2   // the command line makes no sense
	ExitNobody      = 3   // a server does not answer
	ExitChecksum    = 5   // a copy is not what was copied
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM
)

const exitHelp = `Exit codes: 0 success, 1 failure, 2 bad command line, 3 a server does not answer,
5 checksum differs, 130 interrupted.`

var (
	// errUsage marks a mistake in the command line.
	errUsage = errors.New("bad command line")
	// errChecksum: what was copied differs from its copy.
	errChecksum = errors.New("checksum differs")
)

// usagef is a mistake in the command line, in words that stand alone.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

func (usageError) Is(target error) bool { return target == errUsage }
func (e usageError) Unwrap() error      { return e.error }

// ExitCode is how a process ends after an error.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, errUsage), errors.Is(err, bmi.ErrBadAddress), errors.Is(err, bmi.ErrUnknownMethod):
		return ExitUsage
	case errors.Is(err, errChecksum):
		return ExitChecksum
	case silent(err):
		return ExitNobody
	}
	return ExitFailed
}

// silent tells whether an error is that a server does not answer.
func silent(err error) bool {
	for _, target := range []error{rpc.ErrNotSent, rpc.ErrNoAnswer, bmi.ErrUnreachable, bmi.ErrPeerFailed} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// explain adds to an error what helps to get on.
func explain(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, bmi.ErrUnknownMethod) && !strings.Contains(text, "available"):
		return text + "; available: " + methodList()
	case silent(err):
		return text + "; is pvfsd running there? Try: pvfs ping"
	}
	return text
}

func methodList() string {
	var names []string
	for _, d := range bmi.Drivers() {
		names = append(names, d.Name())
	}
	if len(names) == 0 {
		return "none (this binary was built without any)"
	}
	return strings.Join(names, ", ")
}
