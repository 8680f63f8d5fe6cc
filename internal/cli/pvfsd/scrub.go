package pvfsd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/units"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

type scrubOptions struct {
	place        placeOptions
	key, host    string
	rate         int64
	every        time.Duration
	report, stop bool
	json         bool
}

func (a *App) scrubCommand() *cobra.Command {
	var opt scrubOptions
	cmd := &cobra.Command{
		Use:   "scrub --config FILE",
		Short: "Compare all bytes of running servers with their checksums",
		Long: `Scrub makes each server of a file system, or the one of --alias, compare all its data with their
checksums and check its database, while it serves. It waits until the servers have finished, and
then lists the damaged files. Interrupting it does not stop the scrub: --report shows its progress,
and --stop ends it.

Only root may scrub. A damaged block stays damaged until all of it is written again, the file is
truncated before it, or the file is removed.

` + exitHelp,
		Example: `  pvfsd scrub --config fs.conf --rate 200MiB
  pvfsd scrub --config fs.conf --report --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.scrub(cmd.Context(), opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.place.config, "config", "", "the configuration of the file system, fs.conf")
	f.StringVar(&opt.place.fs, "fs-name", "", "the name of the file system, if the configuration has several")
	f.StringVar(&opt.place.alias, "alias", "", "only this server")
	program.SizeFlag(f, &opt.rate, "rate", 64<<20, "how much each server reads in a second, at most; 0 is no limit")
	f.StringVar(&opt.key, "key-file", "", "the private key of this client, if the servers have a keystore")
	f.StringVar(&opt.host, "host", "", "the name of that key in the keystore (default: what hostname prints)")
	program.DurationFlag(f, &opt.every, "interval", 5*time.Second, "interval of progress messages")
	f.BoolVar(&opt.report, "report", false, "start nothing, and show the state of the last scrub")
	f.BoolVar(&opt.stop, "stop", false, "end the scrub that is under way")
	program.JSONFlag(cmd, &opt.json, scrubbed{}, damagedPlace{})
	_ = cmd.MarkFlagFilename("config", "conf")
	_ = cmd.MarkFlagFilename("key-file", "pem")
	cmd.MarkFlagsMutuallyExclusive("report", "stop")
	return cmd
}

func (a *App) scrub(ctx context.Context, opt scrubOptions) error {
	fs, err := opt.place.read()
	if err != nil {
		return err
	}
	which, err := chosen(fs, opt.place.alias)
	if err != nil {
		return err
	}
	fsys, err := a.mountAsRoot(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { _ = fsys.Close() }() // nothing is left to be written
	for _, i := range which {
		switch {
		case opt.stop:
			err = fsys.StopScrub(ctx, i)
		case !opt.report:
			err = fsys.Scrub(ctx, i, opt.rate)
		}
		if err != nil {
			return fmt.Errorf("server %s: %w", fs.Servers[i].Alias, scrubError(err))
		}
	}
	if opt.stop {
		return nil
	}
	s := scrubbing{app: a, fsys: fsys, fs: fs, wait: !opt.report, every: opt.every, json: opt.json}
	return s.run(ctx, which)
}

// chosen are the servers that the command is for.
func chosen(fs *config.Config, alias string) ([]int, error) {
	if alias != "" {
		i := fs.Index(alias)
		if i < 0 {
			return nil, program.Usagef("no server %q; there are: %s", alias, aliases(fs))
		}
		return []int{i}, nil
	}
	all := make([]int, len(fs.Servers))
	for i := range all {
		all[i] = i
	}
	return all, nil
}

func (a *App) mountAsRoot(ctx context.Context, opt scrubOptions) (*client.FS, error) {
	how := client.Options{User: &client.Identity{Groups: []uint32{0}}, Host: opt.host}
	if opt.key != "" {
		key, err := credential.ReadKey(opt.key)
		if err != nil {
			return nil, program.Usage(err)
		}
		how.Key = key
	}
	return client.Mount(ctx, opt.place.config, how)
}

// scrubError adds advice to a server's error.
func scrubError(err error) error {
	switch {
	case errors.Is(err, proto.EBUSY):
		return fmt.Errorf("a scrub is under way (see it with --report, end it with --stop): %w", err)
	case errors.Is(err, proto.EACCES), errors.Is(err, proto.EPERM):
		return fmt.Errorf("only root may scrub, and only from addresses where management is allowed (pvfsd serve --manage-from): %w", err)
	case errors.Is(err, proto.ENOENT), errors.Is(err, proto.EOPNOTSUPP), errors.Is(err, proto.EINVAL):
		return fmt.Errorf("it has no checksums, because it is an OrangeFS server: %w", err)
	}
	return err
}

// scrubbing follows the scrubs of servers.
type scrubbing struct {
	app   *App
	fsys  *client.FS
	fs    *config.Config
	wait  bool
	every time.Duration
	json  bool
}

func (s *scrubbing) run(ctx context.Context, which []int) error {
	found := make(map[int][]proto.ScrubDamage)
	wanted := make(map[proto.Handle]bool)
	var failed error
	for _, i := range which {
		alias := s.fs.Servers[i].Alias
		r, err := s.follow(ctx, i)
		if err != nil {
			return fmt.Errorf("server %s: %w", alias, scrubError(err))
		}
		if err := s.say(alias, r); err != nil {
			return err
		}
		if r.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("server %s did not look at everything: %s", alias, r.Error))
		}
		if found[i], err = s.damage(ctx, i, r); err != nil {
			return fmt.Errorf("server %s: %w", alias, err)
		}
		for _, d := range found[i] {
			wanted[d.Metafile] = d.Metafile != 0
		}
	}
	delete(wanted, 0)
	names, err := s.fsys.NamesOf(ctx, wanted)
	if err != nil {
		return err
	}
	damaged := 0
	for _, i := range which {
		for _, d := range found[i] {
			damaged++
			if err := s.printDamage(s.fs.Servers[i].Alias, d, names[d.Metafile]); err != nil {
				return err
			}
		}
	}
	switch {
	case damaged == 1:
		return errors.Join(fmt.Errorf("%w in one place", errDamaged), failed)
	case damaged > 1:
		return errors.Join(fmt.Errorf("%w in %d places", errDamaged, damaged), failed)
	}
	return failed
}

// follow waits until the scrub of a server has ended, and prints its progress from time to time.
func (s *scrubbing) follow(ctx context.Context, server int) (r proto.ScrubReport, err error) {
	const look = 100 * time.Millisecond
	for said := time.Now(); ; {
		if r, err = s.fsys.ScrubReport(ctx, server, 0); err != nil || !r.Running || !s.wait {
			return r, err
		}
		if time.Since(said) >= s.every {
			said = time.Now()
			if err := s.say(s.fs.Servers[server].Alias, r); err != nil {
				return r, err
			}
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(look):
		}
	}
}

// scrubbed is the state of a server in scrub --json.
type scrubbed struct {
	Server    string        `json:"server"`
	Running   bool          `json:"running"`
	Began     *time.Time    `json:"began,omitempty"`
	Ended     *time.Time    `json:"ended,omitempty"`
	Datafiles int64         `json:"datafiles"`
	Of        int64         `json:"datafiles_total"`
	Read      program.Bytes `json:"bytes_read"`
	Damaged   int64         `json:"damaged_places"`
	Error     string        `json:"error,omitempty"`
}

// damagedPlace is damage in scrub --json.
type damagedPlace struct {
	Server   string        `json:"server"`
	Damage   string        `json:"damage"`
	File     string        `json:"file,omitempty"` // a name
	Handle   uint64        `json:"handle,omitempty"`
	Datafile uint64        `json:"datafile,omitempty"`
	Offset   program.Bytes `json:"offset_bytes"`
	Length   program.Bytes `json:"length_bytes"`
}

func (s *scrubbing) printDamage(alias string, d proto.ScrubDamage, name string) error {
	if !s.json {
		_, err := fmt.Fprintln(s.app.Out, describeDamage(alias, d, name))
		return err
	}
	return program.WriteJSON(s.app.Out, damagedPlace{
		Server: alias, Damage: d.What, File: name, Handle: uint64(d.Metafile), Datafile: uint64(d.Datafile),
		Offset: program.Bytes(d.Offset), Length: program.Bytes(d.Length),
	})
}

// moment is a time in seconds since 1970; nil for 0.
func moment(seconds int64) *time.Time {
	if seconds == 0 {
		return nil
	}
	t := time.Unix(seconds, 0)
	return &t
}

// say prints the progress of a scrub.
func (s *scrubbing) say(alias string, r proto.ScrubReport) error {
	if s.json {
		return program.WriteJSON(s.app.Out, scrubbed{
			Server: alias, Running: r.Running, Began: moment(r.Began), Ended: moment(r.Ended), Datafiles: int64(r.Datafiles), Of: int64(r.DatafilesAll),
			Read: program.Bytes(r.Bytes), Damaged: int64(r.Found), Error: r.Error,
		})
	}
	state := "never scrubbed since its start"
	switch {
	case r.Running:
		state = "under way since " + time.Unix(r.Began, 0).Format(time.DateTime)
	case r.Ended != 0:
		state = "ended " + time.Unix(r.Ended, 0).Format(time.DateTime)
	}
	_, err := fmt.Fprintf(s.app.Out, "server %s: %s, %d of %d datafiles, %s, damaged places: %d\n",
		alias, state, r.Datafiles, r.DatafilesAll, units.FormatBytes(int64(r.Bytes)), r.Found)
	return err
}

// damage returns all damage that a server has found.
func (s *scrubbing) damage(ctx context.Context, server int, r proto.ScrubReport) (all []proto.ScrubDamage, err error) {
	for len(r.Damage) > 0 {
		all = append(all, r.Damage...)
		if r, err = s.fsys.ScrubReport(ctx, server, len(all)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// describeDamage formats one damaged place.
func describeDamage(alias string, d proto.ScrubDamage, name string) string {
	var b strings.Builder
	switch {
	case name != "":
		fmt.Fprintf(&b, "%s", name)
	case d.Metafile != 0:
		fmt.Fprintf(&b, "file %d, which has no name", d.Metafile)
	case d.Datafile != 0:
		b.WriteString("a datafile of no known file")
	default:
		b.WriteString("database")
	}
	fmt.Fprintf(&b, ": server %s", alias)
	if d.Datafile != 0 {
		fmt.Fprintf(&b, ", datafile %d, %d bytes from %d on", d.Datafile, d.Length, d.Offset)
	}
	fmt.Fprintf(&b, ": %s", d.What)
	return b.String()
}
