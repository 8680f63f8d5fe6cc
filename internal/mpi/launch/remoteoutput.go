package launch

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// A remoteOutput passes output of a process on to the launcher.
type remoteOutput struct {
	agent       *agent
	group, rank int
	errors      bool
}

// output returns where the output of a process goes.
func (a *agent) output(p *process, errors bool) *output {
	return newOutput(&remoteOutput{a, p.group.number, p.rank, errors}, false)
}

// Write implements io.Writer. It waits while the agent has too much unwritten output.
func (o *remoteOutput) Write(lines []byte) (int, error) {
	for part := range slices.Chunk(lines, wire.OutputBytesMax) {
		if !o.agent.out.take(len(part)) {
			break
		}
		o.agent.toNode(&wire.Output{Group: o.group, Rank: o.rank, Errors: o.errors, Data: slices.Clone(part)})
	}
	return len(lines), nil
}
