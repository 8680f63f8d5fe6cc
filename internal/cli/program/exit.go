package program

import (
	"context"
	"errors"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Exit codes that mean the same in every command. The others are each command's own.
const (
	ExitOK          = 0
	ExitFailed      = 1   // anything that has no code of its own
	ExitUsage       = 2   // the command line makes no sense
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM
)

// Exit is a code of a command's own: how its process ends after certain errors.
type Exit struct {
	Code   int
	Errors []error
}

// ExitCode is how a process ends after an error. Of the command's own codes the first counts
// that fits; a mistake in the command line goes before all of them, for whatever came of it.
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

// Explain is the text of an error, with what helps to get on.
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
