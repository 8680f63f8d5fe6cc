package pvfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (a *App) dfCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "df [SOURCE]",
		Short:   "Show how full the file system is, by server",
		Example: `  pvfs df --json`,
		Args:    program.Between(0, 1, "one SOURCE at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.df(cmd.Context(), append(args, "/")[0], asJSON)
		},
	}
	program.JSONFlag(cmd, &asJSON, serverSpace{})
	return cmd
}

// serverSpace is one line of df.
type serverSpace struct {
	Server string `json:"server" table:"SERVER"`
	*Space
	Address string `json:"address" table:"ADDRESS"`
	Error   string `json:"error,omitempty" table:"ERROR"`
}

// Space is how full a server is.
type Space struct {
	Total     program.Bytes   `json:"bytes_total" table:"SIZE"`
	Used      program.Bytes   `json:"bytes_used" table:"USED"`
	Available program.Bytes   `json:"bytes_available" table:"FREE"`
	Percent   program.Percent `json:"used_percent" table:"USE%"`
	Handles   uint64          `json:"handles_used" table:"OBJECTS"`
}

func spaceOf(total, free int64, handles uint64) *Space {
	s := &Space{Total: program.Bytes(total), Used: program.Bytes(total - free), Available: program.Bytes(free), Handles: handles}
	if total > 0 {
		s.Percent = program.Percent(100 * float64(total-free) / float64(total))
	}
	return s
}

func (a *App) df(ctx context.Context, name string, asJSON bool) error {
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	all, err := fsys.StatFS(ctx)
	if err != nil {
		return about(fsys, p, err)
	}
	var failed error
	table := program.NewTable[serverSpace](a.Out, asJSON)
	for _, s := range all.Servers {
		row := serverSpace{Server: s.Alias, Address: s.Address, Space: spaceOf(s.BytesTotal, s.BytesAvailable, s.HandlesTotal-s.HandlesAvailable)}
		if s.Err != nil {
			failed = fmt.Errorf("server %s: %w", s.Alias, s.Err)
			row.Space, row.Error = nil, s.Err.Error()
		}
		if err := table.Add(row); err != nil {
			return err
		}
	}
	sum := serverSpace{Server: fsys.Name(), Address: "all servers", Space: spaceOf(all.Total, all.Available, all.HandlesTotal-all.HandlesAvailable)}
	if err := errors.Join(table.Foot(sum), table.Flush()); err != nil {
		return err
	}
	return failed
}

type pingOptions struct {
	count             int
	interval, timeout time.Duration
	json              bool
}

func (a *App) pingCommand() *cobra.Command {
	var opt pingOptions
	cmd := &cobra.Command{
		Use:   "ping [SOURCE]",
		Short: "Check that every server answers, and how fast",
		Example: `  pvfs ping
  pvfs ping --count 0 --interval 1s`,
		Args: program.Between(0, 1, "one SOURCE at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.count < 0 || opt.interval < 0 || opt.timeout <= 0 {
				return program.Usagef("--count and --interval cannot be negative, --timeout must be more than 0")
			}
			return a.ping(cmd.Context(), append(args, "/")[0], opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.count, "count", 1, "how many requests to send (0: until interrupted)")
	program.DurationFlag(f, &opt.interval, "interval", 200*time.Millisecond, "time between two requests")
	program.DurationFlag(f, &opt.timeout, "timeout", 3*time.Second, "how long to wait for answers")
	program.JSONFlag(cmd, &opt.json, pinged{})
	return cmd
}

// pingWithin asks every server, and waits up to limit.
func pingWithin(ctx context.Context, fsys *client.FS, limit time.Duration) []error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	errs := fsys.Ping(within)
	for i, err := range errs {
		if err != nil && ctx.Err() == nil && within.Err() != nil {
			errs[i] = fmt.Errorf("no answer within %v: %w", limit, proto.ETIMEDOUT)
		}
	}
	return errs
}

// pinged is the answer of a server.
type pinged struct {
	Ping    int             `json:"ping"` // from 1 on
	Server  string          `json:"server"`
	Address string          `json:"address"`
	Answers bool            `json:"answers"`
	All     program.Seconds `json:"all_asked_seconds"` // until all servers had answered
	Error   string          `json:"error,omitempty"`
}

func (a *App) ping(ctx context.Context, name string, opt pingOptions) error {
	start := time.Now()
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	if !opt.json {
		fmt.Fprintf(a.Out, "file system %s, number %d, found in %s\n", fsys.Name(), fsys.Config().ID, time.Since(start).Round(time.Microsecond))
	}
	var failed error
	for n := 0; opt.count == 0 || n < opt.count; n++ {
		if n > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(opt.interval):
			}
		}
		start := time.Now()
		errs := pingWithin(ctx, fsys, opt.timeout)
		took := time.Since(start).Round(time.Microsecond)
		for i, s := range fsys.Config().Servers {
			row := pinged{Ping: n + 1, Server: s.Alias, Address: s.Address, Answers: errs[i] == nil, All: program.Seconds(took.Seconds())}
			if errs[i] != nil {
				failed, row.Error = fmt.Errorf("server %s at %s: %w", s.Alias, s.Address, errs[i]), errs[i].Error()
			}
			if err := a.printPing(row, opt.json); err != nil {
				return err
			}
		}
		if !opt.json {
			fmt.Fprintf(a.Out, "all asked in %s\n", took)
		}
	}
	if failed == nil {
		_, failed = fsys.StatCtx(ctx, "/")
		failed = about(fsys, p, failed)
	}
	return failed
}

func (a *App) printPing(p pinged, inJSON bool) (err error) {
	switch {
	case inJSON:
		return program.WriteJSON(a.Out, p)
	case p.Answers:
		_, err = fmt.Fprintf(a.Out, "%s at %s answers\n", p.Server, p.Address)
	default:
		_, err = fmt.Fprintf(a.Out, "%s at %s does not answer: %s\n", p.Server, p.Address, p.Error)
	}
	return err
}
