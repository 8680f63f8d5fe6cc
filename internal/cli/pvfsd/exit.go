package pvfsd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Exit codes of the pvfsd command. They are part of its interface: scripts rely on them, and
// the help text lists them.
const (
	ExitOK          = 0
	ExitFailed      = 1   // anything that has no code of its own
	ExitUsage       = 2   // the command line, or the configuration, makes no sense
	ExitInUse       = 3   // another process has the folder, or the address
	ExitDamaged     = 4   // check found something that it did not repair
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM, but for serve, which ends in order
)

const exitHelp = `Exit codes: 0 success, 1 failure, 2 bad command line or configuration, 3 folder or address
in use, 4 damage that is not repaired, 130 interrupted.`

var (
	// errUsage marks a mistake in the command line or the configuration.
	errUsage = errors.New("bad command line")
	// errDamaged: the store is damaged.
	errDamaged = errors.New("the store is damaged")
	// errInUse: another process has it.
	errInUse = errors.New("in use")
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
	case errors.Is(err, errDamaged):
		return ExitDamaged
	case errors.Is(err, errInUse), errors.Is(err, bmi.ErrNameTaken), errors.Is(err, syscall.EADDRINUSE):
		return ExitInUse
	case errors.Is(err, errUsage), errors.Is(err, bmi.ErrBadAddress), errors.Is(err, bmi.ErrUnknownMethod):
		return ExitUsage
	}
	return ExitFailed
}

// explain adds to an error what helps to get on.
func explain(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, bmi.ErrUnknownMethod) && !strings.Contains(text, "available"):
		return text + "; available: " + methodList()
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
