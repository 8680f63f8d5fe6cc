package mpi

import (
	"fmt"
	"log/slog"
	"os"
)

// exposed says why messages between the hosts of a job are unprotected although the user did not choose that; "" if they
// are protected.
func (pl plan) exposed(asked string, s surrounding) string {
	switch {
	case asked != "" || s.oneHost || !pl.uses(methodTCP):
		return ""
	case s.keyed:
		return "because the program has no " + methodUDP + " to use its key with"
	}
	return "because the job has no key"
}

// warnExposed says so once in a job: to the log of rank 0, or to its standard error if it has none.
func (p *Process) warnExposed(log *slog.Logger) {
	if p.exposed == "" || p.boot.Rank() != 0 {
		return
	}
	text := "messages between hosts go over tcp, neither encrypted nor authenticated, " + p.exposed
	const todo = "give all processes the same key (VIADUCT_JOB_KEY_FILE), or set " + MethodEnv + "=" + methodShm + "," + methodTCP + " if the network is trusted"
	if log == nil {
		fmt.Fprintf(os.Stderr, "mpi: %s: %s\n", text, todo)
		return
	}
	log.Warn("mpi: "+text, "todo", todo)
}
