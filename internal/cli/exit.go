package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/stream"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

// Exit codes of the bmi command. They are part of its interface: scripts rely on
// them, and the help text lists them.
const (
	ExitOK          = 0
	ExitFailed      = 1   // anything that has no code of its own
	ExitUsage       = 2   // the command line makes no sense
	ExitNobody      = 3   // nobody answers at the address
	ExitPeerFailed  = 4   // the other side died, left or gave up
	ExitChecksum    = 5   // what arrived is not what was sent
	ExitInterrupted = 130 // ended by SIGINT or SIGTERM
)

const exitHelp = `Exit codes: 0 success, 1 failure, 2 bad command line, 3 nobody answers at the
address, 4 the other side died or gave up, 5 checksum differs, 130 interrupted.`

// errUsage marks a mistake in the command line.
var errUsage = errors.New("bad command line")

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
	case errors.Is(err, stream.ErrChecksum):
		return ExitChecksum
	case errors.Is(err, stream.ErrNobody), errors.Is(err, errNoAnswer), errors.Is(err, bmi.ErrUnreachable):
		return ExitNobody
	case errors.Is(err, stream.ErrOtherSide), errors.Is(err, bmi.ErrPeerFailed), errors.Is(err, bmi.ErrRefused):
		return ExitPeerFailed
	case errors.Is(err, errUsage), errors.Is(err, bmi.ErrBadAddress), errors.Is(err, bmi.ErrUnknownMethod), errors.Is(err, perf.ErrSize):
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
	case errors.Is(err, bmi.ErrBadAddress) && !strings.Contains(text, "HOST:PORT") && !strings.Contains(text, "of this machine"):
		return text + "; an address looks like " + addressForms()
	}
	return text
}

// methodNames are the methods that this binary carries.
func methodNames() []string {
	var names []string
	for _, d := range bmi.Drivers() {
		names = append(names, d.Name())
	}
	return names
}

func methodList() string {
	if names := methodNames(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "none (this binary was built without any)"
}

// addressForms shows how addresses of this binary's methods look.
func addressForms() string {
	var forms []string
	for _, name := range methodNames() {
		forms = append(forms, service.AddressForm(name))
	}
	return strings.Join(forms, " or ")
}

// checkAddress gives mistakes in an address a better error than a method can.
func checkAddress(address string) error {
	method, rest, ok := strings.Cut(address, "://")
	if !ok {
		return usagef("bad address %q: an address looks like %s", address, addressForms())
	}
	if err := checkMethod(method); err != nil {
		return err
	}
	if rest == "" {
		return usagef("bad address %q: what follows :// is missing; an address looks like %s", address, service.AddressForm(method))
	}
	return nil
}

func checkMethod(name string) error {
	for _, known := range methodNames() {
		if name == known {
			return nil
		}
	}
	return usagef("unknown method %q; available: %s", name, methodList())
}
