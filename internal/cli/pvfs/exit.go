package pvfs

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/top"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Exit codes of the pvfs command, which its help text lists.
const (
	ExitOK          = program.ExitOK
	ExitFailed      = program.ExitFailed
	ExitUsage       = program.ExitUsage
	ExitNobody      = program.ExitNobody   // a server does not answer
	ExitChecksum    = program.ExitChecksum // a copy differs from its original
	ExitInterrupted = program.ExitInterrupted
)

const exitHelp = `Exit codes: 0 success, 1 failure, 2 bad command line, 3 a server does not answer,
5 checksum differs, 130 interrupted.`

// errChecksum: a copy differs from its original.
var errChecksum = errors.New("checksum differs")

// silence are the errors of a server that does not answer this program or another server.
var silence = []error{
	rpc.ErrNotSent, rpc.ErrNoAnswer, bmi.ErrUnreachable, bmi.ErrPeerFailed,
	proto.EHOSTUNREACH, proto.ECONNREFUSED, proto.ECONNRESET, proto.EHOSTDOWN, proto.ETIMEDOUT,
}

// exits are the exit codes specific to this command.
var exits = []program.Exit{
	{Code: ExitChecksum, Errors: []error{errChecksum}},
	{Code: ExitNobody, Errors: append(silence, top.ErrNobody)},
	{Code: ExitUsage, Errors: []error{config.ErrSource}},
}

// ExitCode is the exit code for an error.
func ExitCode(err error) int { return program.ExitCode(err, exits) }

// explain adds advice to an error.
func explain(err error) string {
	text := program.Explain(err)
	if ExitCode(err) == ExitNobody && !errors.Is(err, bmi.ErrUnreachable) { // which says it itself
		return text + "; is pvfsd running there?"
	}
	if errors.Is(err, rpc.ErrBadAnswer) {
		return text + "; is it pvfsd that listens there?"
	}
	if errors.Is(err, client.ErrAuthentication) {
		return text + "; --key-file names the file with the key of this machine, --host its name in the keystore, --cert-file the certificate of the user"
	}
	return text
}
