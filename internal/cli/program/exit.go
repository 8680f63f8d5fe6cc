package program

import (
	"context"
	"errors"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Exit codes with the same meaning in every command. Other codes are specific to a command.
const (
	ExitOK          = 0
	ExitFailed      = 1   // any error without its own code
	ExitUsage       = 2   // the command line makes no sense
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM
)

// Exit is a code specific to a command, and the errors that lead to it.
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
	for _, e := range own {
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
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, bmi.ErrUnknownMethod) && !strings.Contains(text, "available"):
		return text + "; available: " + MethodList()
	}
	return text
}
