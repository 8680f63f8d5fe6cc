package pvfs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/top"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (a *App) topCommand() *cobra.Command {
	var opt top.Options
	cmd := &cobra.Command{
		Use:   "top [SOURCE]",
		Short: "Show what the servers of the file system do",
		Long: `Top asks the servers of a file system each second for their space, requests, bytes, and how long
operations take, by the file system's own protocol: no other port is needed, and OrangeFS's servers
answer, too. They tell the counters to root, or to clients that pvfsd serve --manage-from names; others see the
space alone. Percentiles of latencies are in bmi top and on the page of pvfsd serve --page.

On a terminal, top shows a table that it updates each second, until q. Otherwise, or with --once, it
prints one table and ends, and fails if no server answers.

` + exitHelp,
		Example: `  pvfs top
  pvfs top --once tcp://node1:3334/pvfs2-fs`,
		Args: program.Between(0, 1, "one SOURCE at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, _, err := a.find(cmd.Context(), append(args, "/")[0])
			if err != nil {
				return err
			}
			opt.Tab = "servers"
			return opt.Run(cmd.Context(), a.In, a.Out, a.Err, &loads{fsys: fsys}, "the servers of "+fsys.Name())
		},
	}
	opt.Flags(cmd.Flags())
	return cmd
}

// loads makes views of a file system's servers.
type loads struct {
	fsys   *client.FS
	joiner view.Joiner
}

// View implements view.Source.
func (l *loads) View(ctx context.Context, q table.Query) (*view.View, error) {
	all := l.fsys.Load(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	var samples []view.Sample
	refused := false
	for i := range all {
		samples = append(samples, view.Sample{Target: all[i].Alias, Snapshot: snapshotOf(l.fsys.Name(), &all[i], now)})
		refused = refused || errors.Is(all[i].NoCounts, proto.EACCES)
	}
	v := l.joiner.Join(now, samples, q)
	for i := range all {
		switch err := all[i].NoCounts; {
		case all[i].Err != nil:
			v.Servers[i].Error = "no answer: " + all[i].Err.Error()
			v.Processes[i].Error = v.Servers[i].Error
		case err != nil && !errors.Is(err, proto.EACCES):
			v.Servers[i].Error = "no counters: " + err.Error()
		}
	}
	if refused {
		v.Notes = append(v.Notes, "servers tell their counters to root only: be root, or start them with pvfsd serve --manage-from and this network")
	}
	return v, nil
}

// snapshotOf returns a server's snapshot, with the values that the protocol reports.
func snapshotOf(name string, l *client.ServerLoad, now time.Time) *watch.Snapshot {
	s := &watch.Server{Alias: l.Alias, FileSystem: name, BytesRead: l.BytesRead, BytesWritten: l.BytesWritten}
	if l.BytesTotal > 0 {
		s.SpaceTotal, s.SpaceFree = uint64(l.BytesTotal), uint64(min(max(l.BytesAvailable, 0), l.BytesTotal))
	}
	others := l.Requests
	for _, o := range l.Operations {
		s.Requests = append(s.Requests, watch.Request{Kind: o.Name, Count: o.Count, Sum: o.Sum.Seconds()})
		others -= min(o.Count, others)
	}
	s.Requests = append(s.Requests, watch.Request{Kind: "others", Count: others, Active: l.Running})
	if r := l.Scrub; r != nil && r.Began > 0 {
		s.Scrub = &watch.Progress{Running: r.Running, Done: natural(r.Datafiles), Total: natural(r.DatafilesAll), Unit: "datafiles", Found: natural(int64(r.Found))}
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(l.Address, "tcp://"), ":")
	return &watch.Snapshot{Program: "server", Host: host, Taken: now, Server: s}
}

func natural(n int64) uint64 { return uint64(max(n, 0)) }
