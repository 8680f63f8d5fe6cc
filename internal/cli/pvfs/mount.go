package pvfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/fuse"
)

type mountOptions struct {
	allowOther bool
	keep       time.Duration
	debug      bool
}

func (a *App) mountCommand() *cobra.Command {
	var opt mountOptions
	cmd := &cobra.Command{
		Use:   "mount [SOURCE] DIR",
		Short: "Mount the file system on a directory, for all programs",
		Long: `mount shows the file system in a directory, by FUSE, until it is interrupted or somebody
unmounts the directory (umount DIR, or fusermount3 -u DIR). It stays in the foreground.

Root mounts for all users, each with his own rights; others mount for themselves, with the program
fusermount3, and with -allow-other for all if /etc/fuse.conf has user_allow_other in it. With -user everything is done for that user.`,
		Args: program.Between(1, 2, "a SOURCE and a DIR, or a DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, dir := "/", args[len(args)-1]
			if len(args) == 2 {
				source = args[0]
			}
			return a.mountOn(cmd.Context(), source, dir, opt)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.allowOther, "allow-other", os.Geteuid() == 0, "let other users in")
	f.DurationVar(&opt.keep, "keep", time.Second, "how long the kernel keeps names and attributes without asking")
	f.BoolVar(&opt.debug, "debug", false, "write every request of the kernel to standard error")
	return cmd
}

func (a *App) mountOn(ctx context.Context, source, dir string, opt mountOptions) error {
	if opt.keep < 0 {
		return program.Usagef("-keep cannot be negative")
	}
	if opt.keep == 0 {
		opt.keep = -1
	}
	if err := fuse.Available(); err != nil {
		return err
	}
	fsys, p, err := a.find(ctx, source)
	if err != nil {
		return err
	}
	if p.path != "/" {
		return program.Usagef("%s is not the top of the file system, which is all that can be mounted", source)
	}
	m, err := fuse.New(ctx, fsys, dir, fuse.Options{
		AllowOther: opt.allowOther,
		Callers:    opt.allowOther && os.Geteuid() == 0 && a.userFlag == "",
		EntryTime:  opt.keep, AttrTime: opt.keep,
		Log:   slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Debug: opt.debug,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "file system %s is mounted on %s\n", fsys.Name(), m.Dir())
	select {
	case <-ctx.Done(): // this is how it ends
		err = m.Close()
	case <-m.Done():
		err = m.Close()
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}
