package pvfs

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (a *App) dfCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "df [SOURCE]",
		Short: "Show how full the file system is, by server",
		Args:  program.Between(0, 1, "one SOURCE at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.df(cmd.Context(), append(args, "/")[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each server")
	return cmd
}

// serverSpace is one line of df.
type serverSpace struct {
	Server    string `json:"server"`
	Address   string `json:"address"`
	Total     int64  `json:"bytes_total"`
	Available int64  `json:"bytes_available"`
	Handles   uint64 `json:"handles_used"`
	Error     string `json:"error,omitempty"`
}

func (a *App) df(ctx context.Context, name string, asJSON bool) error {
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	space, err := fsys.StatFS(ctx)
	if err != nil {
		return about(fsys, p, err)
	}
	var failed error
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "SERVER\tSIZE\tUSED\tFREE\tUSE%\tOBJECTS\tADDRESS")
	}
	for _, s := range space.Servers {
		l := serverSpace{s.Alias, s.Address, s.BytesTotal, s.BytesAvailable, s.HandlesTotal - s.HandlesAvailable, ""}
		if s.Err != nil {
			failed, l.Error = fmt.Errorf("server %s: %w", s.Alias, s.Err), s.Err.Error()
		}
		switch {
		case asJSON:
			if err := json.NewEncoder(a.Out).Encode(l); err != nil {
				return err
			}
		case s.Err != nil:
			fmt.Fprintf(w, "%s\tno answer\t\t\t\t\t%s\n", l.Server, l.Address)
		default:
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", l.Server, usage(l.Total, l.Available), l.Handles, l.Address)
		}
	}
	if !asJSON {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", fsys.Name(), usage(space.Total, space.Available), space.HandlesTotal-space.HandlesAvailable, "all servers")
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return failed
}

// usage is the size, the used and the free space, and the percentage in use.
func usage(total, free int64) string {
	used := total - free
	percent := 0.0
	if total > 0 {
		percent = 100 * float64(used) / float64(total)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%.0f%%", human(total), human(used), human(free), percent)
}

// human formats a number of bytes with few digits.
func human(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, u := float64(bytes), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if u == 0 || v >= 100 {
		return fmt.Sprintf("%.0f %s", v, units[u])
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

type pingOptions struct {
	count             int
	interval, timeout time.Duration
}

func (a *App) pingCommand() *cobra.Command {
	var opt pingOptions
	cmd := &cobra.Command{
		Use:   "ping [SOURCE]",
		Short: "Check that every server answers, and how fast",
		Args:  program.Between(0, 1, "one SOURCE at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.count < 1 || opt.interval < 0 || opt.timeout <= 0 {
				return program.Usagef("-count and -timeout must be more than 0, -interval cannot be negative")
			}
			return a.ping(cmd.Context(), append(args, "/")[0], opt)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.count, "count", 1, "number of requests")
	f.DurationVar(&opt.interval, "interval", 200*time.Millisecond, "time between two requests")
	f.DurationVar(&opt.timeout, "timeout", 3*time.Second, "how long to wait for answers")
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

func (a *App) ping(ctx context.Context, name string, opt pingOptions) error {
	start := time.Now()
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "file system %s, number %d, found in %s\n", fsys.Name(), fsys.Config().ID, time.Since(start).Round(time.Microsecond))
	var failed error
	for n := range opt.count {
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
			if errs[i] != nil {
				failed = fmt.Errorf("server %s at %s: %w", s.Alias, s.Address, errs[i])
				fmt.Fprintf(a.Out, "%s at %s does not answer: %v\n", s.Alias, s.Address, errs[i])
				continue
			}
			fmt.Fprintf(a.Out, "%s at %s answers\n", s.Alias, s.Address)
		}
		fmt.Fprintf(a.Out, "all asked in %s\n", took)
	}
	if failed == nil {
		_, failed = fsys.StatCtx(ctx, "/")
		failed = about(fsys, p, failed)
	}
	return failed
}
