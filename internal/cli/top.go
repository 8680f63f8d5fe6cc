package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/top"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/watch/gather"
)

// metricsVariable says where the processes of a program show what they do.
const metricsVariable = "VIADUCT_METRICS"

func (a *App) topCommand() *cobra.Command {
	var opt top.Options
	cmd := &cobra.Command{
		Use:   "top [ADDR|unix:PATH|dir:PATH]...",
		Short: "Show what running processes do: peers, file servers, and ranks that wait",
		Long: `Top shows processes while they run: their peers with states, credits, queues, round trips and
retransmissions; file servers with requests per second and latencies; and the ranks of MPI jobs with who
waits for whom. Processes show this where ` + metricsVariable + ` of their environment says, or pvfsd serve --metrics:
at an address, at a Unix socket, or each at a socket of its own in a folder. Top takes the same names, and
by default the one in its own ` + metricsVariable + `.

On a terminal, top shows a table that it updates each second, until q. Otherwise, or with --once, it
prints one table and ends, and fails if no process answers. With --web it serves the same as a page for
browsers, without a password: listen at localhost unless all that reach the address may read it.

` + exitHelp,
		Example: `  bmi top node1:9100 node2:9100
  bmi top --filter 'state=READY round-trip>5ms' --sort round-trip dir:/run/user/1000/viaduct
  bmi top --web localhost:9200 dir:/run/user/1000/viaduct`,
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := targetsOf(args, environ.Getenv(metricsVariable))
			if err != nil {
				return program.Usage(err)
			}
			var where []string
			for _, t := range targets {
				where = append(where, t.String())
			}
			source := gather.New(targets)
			defer source.Close()
			return opt.Run(cmd.Context(), a.In, a.Out, a.Err, source, strings.Join(where, ", "))
		},
	}
	opt.Flags(cmd.Flags())
	opt.PeerFlags(cmd.Flags())
	return cmd
}

// targetsOf parses the targets on the command line, or the one of the environment.
func targetsOf(args []string, environment string) (targets []gather.Target, err error) {
	if len(args) == 0 && strings.TrimSpace(environment) == "" {
		return nil, program.Usagef("name the processes to watch: HOST:PORT, unix:PATH or dir:PATH, as in %s of their environment", metricsVariable)
	}
	if len(args) == 0 {
		args = []string{environment}
	}
	for _, arg := range args {
		t, err := gather.ParseTarget(arg)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}
