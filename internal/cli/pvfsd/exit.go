package pvfsd

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
)

// Exit codes of the pvfsd command, which its help text lists.
const (
	ExitOK          = program.ExitOK
	ExitFailed      = program.ExitFailed
	ExitUsage       = program.ExitUsage       // the configuration is a part of the command line
	ExitInUse       = program.ExitInUse       // another process uses the folder or the address
	ExitDamaged     = program.ExitDamaged     // check left problems that it did not repair, damage or not
	ExitInterrupted = program.ExitInterrupted // except for serve, which ends in order
)

const exitHelp = `Exit codes: 0 success, 1 failure, 2 bad command line or configuration, 3 nobody answers at
the address, 7 folder or address in use, 8 check found something that is not repaired, 130 interrupted.`

var (
	// errDamaged: the store is damaged.
	errDamaged = errors.New("the store is damaged")
	// errLeftovers: the store is not damaged, but operations were interrupted.
	errLeftovers = errors.New("interrupted operations left something")
	// errInUse: another process uses it.
	errInUse = errors.New("in use")
)

// exits are the exit codes specific to this command.
var exits = []program.Exit{
	{Code: ExitUsage, Errors: []error{server.ErrConfig}},
	{Code: ExitDamaged, Errors: []error{errDamaged, errLeftovers}},
	{Code: ExitInUse, Errors: []error{errInUse}},
}

// ExitCode is the exit code for an error.
func ExitCode(err error) int { return program.ExitCode(err, exits) }
