package cli

import (
	"errors"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/stream"
	"github.com/viaduct-hpc/viaduct/internal/cli/top"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

// Exit codes of the bmi command, which its help text lists.
const (
	ExitOK          = program.ExitOK
	ExitFailed      = program.ExitFailed
	ExitUsage       = program.ExitUsage
	ExitNobody      = program.ExitNobody
	ExitPeerFailed  = program.ExitPeerFailed
	ExitChecksum    = program.ExitChecksum
	ExitBusy        = program.ExitBusy
	ExitInUse       = program.ExitInUse
	ExitInterrupted = program.ExitInterrupted
)

const exitHelp = `Exit codes: 0 success, 1 failure, 2 bad command line, 3 nobody answers at the
address, 4 the other side died or gave up, 5 checksum differs, 6 connected, but no answer
in time, 7 the address is in use, 130 interrupted.`

// exits are the codes specific to this command.
var exits = []program.Exit{
	{Code: ExitChecksum, Errors: []error{stream.ErrChecksum}},
	{Code: ExitPeerFailed, Errors: []error{stream.ErrGone}},
	{Code: ExitBusy, Errors: []error{errBusy}},
	{Code: ExitNobody, Errors: []error{stream.ErrNobody, top.ErrNobody, errNoAnswer, bmi.ErrUnreachable}},
	{Code: ExitPeerFailed, Errors: []error{stream.ErrOtherSide, bmi.ErrPeerFailed, bmi.ErrRefused}},
	{Code: ExitUsage, Errors: []error{perf.ErrSize}},
}

// ExitCode is the exit code for an error.
func ExitCode(err error) int { return program.ExitCode(err, exits) }

// explain adds a hint to an error.
func explain(err error) string {
	text := program.Explain(err)
	if errors.Is(err, bmi.ErrBadAddress) && !strings.Contains(text, "HOST:PORT") && !strings.Contains(text, "of this machine") {
		return text + "; an address looks like " + addressForms()
	}
	if errors.Is(err, top.ErrNobody) {
		return text + "; processes show what they do where " + metricsVariable + " of their environment says"
	}
	return text
}

// addressForms shows the forms of addresses of this binary's methods.
func addressForms() string {
	var forms []string
	for _, name := range program.Methods() {
		forms = append(forms, service.AddressForm(name))
	}
	return strings.Join(forms, " or ")
}

// checkAddress returns a better error for a mistake in an address than a method
// can.
func checkAddress(address string) error {
	method, rest, ok := strings.Cut(address, "://")
	if !ok {
		return program.Usagef("bad address %q: an address looks like %s", address, addressForms())
	}
	if err := checkMethod(method); err != nil {
		return err
	}
	if rest == "" {
		return program.Usagef("bad address %q: what follows :// is missing; an address looks like %s", address, service.AddressForm(method))
	}
	return nil
}

func checkMethod(name string) error {
	for _, known := range program.Methods() {
		if name == known {
			return nil
		}
	}
	return program.Usagef("unknown method %q; available: %s", name, program.MethodList())
}
