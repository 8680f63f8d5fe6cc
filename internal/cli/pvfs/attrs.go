package pvfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

func (a *App) chmodCommand() *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:     "chmod MODE NAME...",
		Short:   "Change modes: 0644, u+x, go-w, a=rX",
		Example: `  pvfs chmod -R go-w /project`,
		Args:    program.Between(2, -1, "a MODE and one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := changed(0, args[0], false); err != nil {
				return err
			}
			return a.attrs(cmd.Context(), args[1:], recursive, func(ctx context.Context, view *client.FS, name string, info fs.FileInfo) error {
				mode, err := changed(info.Mode(), args[0], info.IsDir())
				if err != nil {
					return err
				}
				return view.Chmod(ctx, name, mode)
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "R", false, "also everything below directories")
	return cmd
}

// An attrChange changes an attribute of a name in a view.
type attrChange func(ctx context.Context, view *client.FS, name string, info fs.FileInfo) error

// attrs changes an attribute of each name and, with recursive, of everything below it. The names may be links. Links below them
// are skipped, even if another user puts one there meanwhile.
func (a *App) attrs(ctx context.Context, names []string, recursive bool, change attrChange) error {
	return a.each(ctx, names, func(ctx context.Context, t remoteTree, p place) error {
		info, err := t.stat(p, true)
		if err != nil {
			return err
		}
		if !recursive || !info.IsDir() {
			return change(ctx, t.fs, p.path, info)
		}
		if err := t.enter(p, true); err != nil {
			return err
		}
		return t.down(p, info, change)
	})
}

// down changes an attribute of a directory, which was entered, and of everything below it.
func (t *remoteTree) down(p place, info fs.FileInfo, change attrChange) error {
	if info.IsDir() {
		var infos []*client.Info
		err := t.in(p, func(view *client.FS, name string) (err error) {
			infos, err = view.ReadDirPlus(t.ctx, name)
			return err
		})
		if err != nil {
			return t.about(p, err)
		}
		for _, below := range infos {
			if below.Mode()&fs.ModeSymlink != 0 {
				continue
			}
			if err := t.down(p.below(below.Name()), below, change); err != nil {
				return err
			}
		}
	}
	return t.about(p, t.in(p, func(view *client.FS, name string) error { return change(t.ctx, view, name, info) }))
}

func (a *App) chownCommand() *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:     "chown [OWNER][:GROUP] NAME...",
		Short:   "Change owners and groups, by name or number",
		Example: `  pvfs chown -R alice:physics /home/alice`,
		Args:    program.Between(2, -1, "an OWNER and one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			uid, gid, err := parseOwner(args[0])
			if err != nil {
				return err
			}
			return a.attrs(cmd.Context(), args[1:], recursive, func(ctx context.Context, view *client.FS, name string, _ fs.FileInfo) error {
				return view.Chown(ctx, name, uid, gid)
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "R", false, "also everything below directories")
	return cmd
}

// parseOwner parses user, user:group and :group; -1 stands for a missing one.
func parseOwner(text string) (uid, gid int, err error) {
	owner, group, _ := strings.Cut(text, ":")
	if owner == "" && group == "" {
		return 0, 0, program.Usagef("bad owner %q: want OWNER, OWNER:GROUP or :GROUP", text)
	}
	uid, err = number(owner, func(name string) (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if err != nil {
		return 0, 0, program.Usagef("no user is called %q here; a number will do", owner)
	}
	gid, err = number(group, func(name string) (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	if err != nil {
		return 0, 0, program.Usagef("no group is called %q here; a number will do", group)
	}
	return uid, gid, nil
}

// number is an id, from a number or a name.
func number(text string, look func(string) (string, error)) (int, error) {
	if text == "" {
		return -1, nil
	}
	id, err := strconv.ParseUint(text, 10, 32)
	if err == nil {
		return int(id), nil
	}
	if text, err = look(text); err == nil {
		id, err = strconv.ParseUint(text, 10, 32)
	}
	return int(id), err
}

type touchOptions struct {
	when     string
	noCreate bool
}

func (a *App) touchCommand() *cobra.Command {
	var opt touchOptions
	cmd := &cobra.Command{
		Use:   "touch NAME...",
		Short: "Make empty files, or set their times to now",
		Example: `  pvfs touch /marker
  pvfs touch --date '2026-01-31 12:00:00' /marker`,
		Args: program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			when := time.Now()
			if opt.when != "" {
				var err error
				if when, err = time.ParseInLocation("2006-01-02 15:04:05", opt.when, time.Local); err != nil {
					return program.Usagef("bad --date %q: want for instance %q", opt.when, "2026-01-31 12:00:00")
				}
			}
			return a.each(cmd.Context(), args, func(ctx context.Context, t remoteTree, p place) error {
				return touch(ctx, t, p, when, opt.noCreate)
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&opt.when, "date", "d", "", "the time to set instead of now, such as '2026-01-31 12:00:00'")
	f.BoolVarP(&opt.noCreate, "no-create", "c", false, "do not create files")
	return cmd
}

func touch(ctx context.Context, t remoteTree, p place, when time.Time, noCreate bool) error {
	err := t.fs.Chtimes(ctx, p.path, when, when)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if noCreate {
		return nil
	}
	f, err := t.fs.OpenFile(ctx, p.path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return t.fs.Chtimes(ctx, p.path, when, when)
}

func (a *App) truncateCommand() *cobra.Command {
	var size int64
	cmd := &cobra.Command{
		Use:     "truncate --size SIZE NAME...",
		Short:   "Shorten files, or extend them with zeros",
		Example: `  pvfs truncate --size 1GiB /big`,
		Args:    program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("size") {
				return program.Usagef("--size is missing, for instance --size 64KiB")
			}
			return a.each(cmd.Context(), args, func(ctx context.Context, t remoteTree, p place) error {
				f, err := openFile(ctx, t.fs, p.path, os.O_WRONLY, 0, client.Striping{})
				if err != nil {
					return err
				}
				return errors.Join(f.Truncate(size), f.Close())
			})
		},
	}
	program.SizeFlagP(cmd.Flags(), &size, "size", "s", 0, "the new size, for example 0, 64KiB or 1GiB")
	return cmd
}
