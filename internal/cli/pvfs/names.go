package pvfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

func (a *App) mkdirCommand() *cobra.Command {
	var parents bool
	mode := "0755"
	cmd := &cobra.Command{
		Use:     "mkdir NAME...",
		Short:   "Make directories",
		Example: `  pvfs mkdir -p /a/b/c`,
		Args:    program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			perm, err := parseMode(mode)
			if err != nil {
				return err
			}
			return a.each(cmd.Context(), args, func(ctx context.Context, t remoteTree, p place) error {
				if parents {
					return t.fs.MkdirAll(ctx, p.path, perm)
				}
				return t.fs.Mkdir(ctx, p.path, perm)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&parents, "parents", "p", false, "also make missing parents, and accept existing directories")
	f.StringVarP(&mode, "mode", "m", mode, "the mode, octal")
	return cmd
}

// each calls fn for each name, which must be on a file system.
func (a *App) each(ctx context.Context, names []string, fn func(ctx context.Context, t remoteTree, p place) error) error {
	for _, name := range names {
		fsys, p, err := a.find(ctx, name)
		if err != nil {
			return err
		}
		if err := fn(ctx, remoteTree{ctx: ctx, fs: fsys}, p); err != nil {
			return about(fsys, p, err)
		}
	}
	return nil
}

func (a *App) rmCommand() *cobra.Command {
	var recursive, force bool
	cmd := &cobra.Command{
		Use:     "rm NAME...",
		Short:   "Remove files, and directories with -r",
		Example: `  pvfs rm -r /old`,
		Args:    program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, func(ctx context.Context, t remoteTree, p place) error {
				err := rm(ctx, t, p, recursive)
				if force && errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&recursive, "recursive", "r", false, "remove directories with their contents")
	f.BoolVarP(&force, "force", "f", false, "ignore names that do not exist")
	return cmd
}

// lostAndFound is a directory that every file system has.
const lostAndFound = "/lost+found"

func rm(ctx context.Context, t remoteTree, p place, recursive bool) error {
	info, err := t.fs.LstatCtx(ctx, p.path)
	switch {
	case err != nil:
		return err
	case p.base() == "":
		return program.Usagef("rm does not remove %s", p.given)
	case p.path == lostAndFound:
		return program.Usagef("rm does not remove %s: pvfsd check --repair puts the objects that it finds there", p.given)
	case !info.IsDir():
		return t.fs.Remove(ctx, p.path)
	case !recursive:
		return program.Usagef("%s is a directory; rm -r removes it with its contents", p.given)
	}
	return t.fs.RemoveAll(ctx, p.path)
}

func (a *App) mvCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "mv SOURCE... TARGET",
		Short:   "Rename files and directories, or move them into a directory",
		Example: `  pvfs mv /a /b /archive`,
		Args:    program.Between(2, -1, "one SOURCE or more, and a TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mv(cmd.Context(), args[:len(args)-1], args[len(args)-1])
		},
	}
}

func (a *App) mv(ctx context.Context, sources []string, target string) error {
	fsys, dst, err := a.find(ctx, target)
	if err != nil {
		return err
	}
	info, err := fsys.StatCtx(ctx, dst.path)
	into := err == nil && info.IsDir()
	if len(sources) > 1 && !into {
		return program.Usagef("%s is not a directory, so only one file can go there", target)
	}
	for _, source := range sources {
		other, src, err := a.find(ctx, source)
		if err != nil {
			return err
		}
		if other != fsys {
			return program.Usagef("%s is on another file system than %s; use cp -r, then rm -r", source, target)
		}
		if _, err := fsys.LstatCtx(ctx, src.path); err != nil {
			return about(fsys, src, err)
		}
		to := dst
		if into && src.base() != "" {
			to = dst.below(src.base())
		}
		if err := fsys.Rename(ctx, src.path, to.path); err != nil {
			return about(fsys, to, err)
		}
	}
	return nil
}

func (a *App) lnCommand() *cobra.Command {
	var symbolic bool
	cmd := &cobra.Command{
		Use:     "ln -s TARGET NAME",
		Short:   "Make a symbolic link",
		Example: `  pvfs ln -s data-7 /current`,
		Long: `Ln makes a symbolic link. The target is stored as given: relative to the directory of the
link, or absolute in the file system. There are no hard links on these file systems.

` + exitHelp,
		Args: program.Between(2, 2, "a TARGET and a NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !symbolic {
				return program.Usagef("a file has one name here; ln -s makes a symbolic link")
			}
			return a.each(cmd.Context(), args[1:], func(ctx context.Context, t remoteTree, p place) error {
				if info, err := t.fs.StatCtx(ctx, p.path); err == nil && info.IsDir() {
					if base := (place{path: args[0]}).base(); base != "" {
						p = p.below(base)
					}
				}
				return t.fs.Symlink(ctx, args[0], p.path)
			})
		},
	}
	cmd.Flags().BoolVarP(&symbolic, "symbolic", "s", false, "make a symbolic link, the only kind")
	return cmd
}

// parseMode parses an octal mode.
func parseMode(text string) (fs.FileMode, error) {
	bits, err := strconv.ParseUint(text, 8, 32)
	if err != nil || bits&^0o6777 != 0 {
		return 0, program.Usagef("bad mode %q: want octal digits, for instance 0755; the file system has no sticky bit", text)
	}
	return modeOf(uint32(bits)), nil
}

// modeOf converts mode bits to a mode of package fs.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	if bits&0o4000 != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&0o2000 != 0 {
		mode |= fs.ModeSetgid
	}
	return mode
}

// bitsOf is the reverse of modeOf.
func bitsOf(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	return bits
}

// changed applies an octal or symbolic mode of chmod to the present one.
func changed(old fs.FileMode, text string, dir bool) (fs.FileMode, error) {
	if text != "" && text[0] >= '0' && text[0] <= '9' {
		return parseMode(text)
	}
	bits, err := symbolic(bitsOf(old), text, dir)
	if err != nil {
		return 0, program.Usagef("bad mode %q: %w; for instance 0644, u+x, go-w, a=rX", text, err)
	}
	return modeOf(bits), nil
}

// errMode is for an invalid symbolic mode.
var errMode = errors.New("want who, one of +-= and rights")

func modeError(c byte) error { return fmt.Errorf("%q does not belong there, %w", c, errMode) }
