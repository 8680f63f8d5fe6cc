package program

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Exit codes. They have the same meaning in every command (docs/reference/exit-codes.md), and are part of its interface: scripts rely on
// them. mpiexec has more, those of the programs that it starts.
const (
	ExitOK          = 0
	ExitFailed      = 1   // any error without its own code
	ExitUsage       = 2   // the command line, or a file that it names, makes no sense
	ExitNobody      = 3   // no process answers at the address
	ExitPeerFailed  = 4   // the other side died, left, refused or gave up
	ExitChecksum    = 5   // received bytes, or a copy, differ from the original
	ExitBusy        = 6   // a process was reached, but it did not answer in time
	ExitInUse       = 7   // a running process has the address, the name or the folder
	ExitDamaged     = 8   // check or scrub found damage that is not repaired
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM
)

// common are the errors that mean the same in every command.
var common = []Exit{
	{Code: ExitInUse, Errors: []error{bmi.ErrNameTaken, syscall.EADDRINUSE}},
	{Code: ExitNobody, Errors: []error{bmi.ErrUnreachable}},
}

// Exit is a code, and the errors that lead to it in a command.
type Exit struct {
	Code   int
	Errors []error
}

// ExitCode is the exit code for an error. A mistake in the command line takes precedence;
// then the first matching code of own is used.
func ExitCode(err error, own []Exit) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, ErrUsage), errors.Is(err, bmi.ErrBadAddress), errors.Is(err, bmi.ErrUnknownMethod):
		return ExitUsage
	}
	for _, e := range append(slices.Clone(own), common...) {
		if IsAny(err, e.Errors) {
			return e.Code
		}
	}
	return ExitFailed
}

// IsAny tells whether an error is one of several.
func IsAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Explain is the text of an error, with a hint where possible.
func Explain(err error) string {
	var lists *bmi.UnknownMethodError
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, bmi.ErrUnknownMethod) && !errors.As(err, &lists):
		return err.Error() + "; available: " + MethodList()
	}
	return err.Error()
}
