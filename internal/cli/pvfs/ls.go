package pvfs

import (
	"context"
	"fmt"
	"io/fs"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

type lsOptions struct{ long, all, recursive, numeric, json bool }

func (a *App) lsCommand() *cobra.Command {
	var opt lsOptions
	cmd := &cobra.Command{
		Use:   "ls [NAME]...",
		Short: "List directories and files",
		Example: `  pvfs ls -l /
  pvfs ls --recursive --json /project`,
		Long: `Ls lists the contents of directories, sorted by name; without a name, of the root directory.
-l adds mode, owner, group, size and modification time.

` + exitHelp,
		Args: program.Between(0, -1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"/"}
			}
			return a.ls(cmd.Context(), args, opt)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opt.long, "long", "l", false, "one line for each object, with its attributes")
	f.BoolVarP(&opt.all, "all", "a", false, "also names that begin with a dot")
	f.BoolVarP(&opt.recursive, "recursive", "R", false, "also the directories below")
	f.BoolVarP(&opt.numeric, "numeric", "n", false, "owners and groups as numbers")
	program.JSONFlag(cmd, &opt.json, listed{})
	return cmd
}

func (a *App) ls(ctx context.Context, names []string, opt lsOptions) error {
	for i, name := range names {
		fsys, p, err := a.find(ctx, name)
		if err != nil {
			return err
		}
		info, err := fsys.StatCtx(ctx, p.path)
		if err != nil {
			return about(fsys, p, err)
		}
		if !info.IsDir() {
			if err := a.print(ctx, fsys, []line{{info, name, p.path}}, opt); err != nil {
				return err
			}
			continue
		}
		if err := a.lsDir(ctx, fsys, p, len(names) > 1 || opt.recursive, i > 0, opt); err != nil {
			return err
		}
	}
	return nil
}

// A line is one object in the output of ls.
type line struct {
	info       *client.Info
	name, path string
}

func (a *App) lsDir(ctx context.Context, fsys *client.FS, p place, title, gap bool, opt lsOptions) error {
	if title && !opt.json {
		if gap {
			fmt.Fprintln(a.Out)
		}
		fmt.Fprintf(a.Out, "%s:\n", p.given)
	}
	if !opt.long && !opt.recursive && !opt.json {
		names, err := fsys.ReadNames(ctx, p.path)
		for _, name := range names {
			if opt.all || !strings.HasPrefix(name, ".") {
				fmt.Fprintln(a.Out, printable(name))
			}
		}
		return about(fsys, p, err)
	}
	infos, err := fsys.ReadDirPlus(ctx, p.path)
	if err != nil {
		return about(fsys, p, err)
	}
	var lines []line
	for _, info := range infos {
		if opt.all || !strings.HasPrefix(info.Name(), ".") {
			lines = append(lines, line{info, info.Name(), p.below(info.Name()).path})
		}
	}
	if err := a.print(ctx, fsys, lines, opt); err != nil {
		return err
	}
	for _, l := range lines {
		if opt.recursive && l.info.IsDir() {
			if err := a.lsDir(ctx, fsys, p.below(l.name), true, true, opt); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *App) print(ctx context.Context, fsys *client.FS, lines []line, opt lsOptions) error {
	if opt.json {
		return a.printJSON(ctx, fsys, lines, opt)
	}
	if !opt.long {
		for _, l := range lines {
			fmt.Fprintln(a.Out, printable(l.name))
		}
		return nil
	}
	who := owners{numeric: opt.numeric}
	rows, widths := make([][4]string, len(lines)), [4]int{}
	for i, l := range lines {
		rows[i] = [4]string{
			letters(l.info.Mode().Type(), l.info.Attr.Perms), who.user(l.info.Attr.Owner), who.group(l.info.Attr.Group), strconv.FormatInt(l.info.Size(), 10),
		}
		for c, cell := range rows[i] {
			widths[c] = max(widths[c], len(cell))
		}
	}
	for i, l := range lines {
		name, r := printable(l.name), rows[i]
		if l.info.Mode()&fs.ModeSymlink != 0 {
			if target, err := fsys.ReadLinkCtx(ctx, l.path); err == nil {
				name += " -> " + printable(target)
			}
		}
		_, err := fmt.Fprintf(a.Out, "%-*s %-*s %-*s %*s %s %s\n", widths[0], r[0], widths[1], r[1], widths[2], r[2], widths[3], r[3],
			l.info.ModTime().Format("2006-01-02 15:04"), name)
		if err != nil {
			return err
		}
	}
	return nil
}

// listed is an object of ls --json.
type listed struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	Type     string    `json:"type"`
	Mode     string    `json:"mode"` // octal
	UID      uint32    `json:"uid"`
	GID      uint32    `json:"gid"`
	Owner    string    `json:"owner"` // a name, if this machine knows it
	Group    string    `json:"group"`
	Size     int64     `json:"size_bytes"`
	Modified time.Time `json:"modified"`
	Target   string    `json:"target,omitempty"`
}

func (a *App) printJSON(ctx context.Context, fsys *client.FS, lines []line, opt lsOptions) error {
	who := owners{numeric: opt.numeric}
	for _, l := range lines {
		attr := l.info.Attr
		row := listed{
			Name: l.name, Path: l.path, Type: kind(l.info.Mode()), Mode: fmt.Sprintf("%04o", attr.Perms), UID: attr.Owner, GID: attr.Group,
			Owner: who.user(attr.Owner), Group: who.group(attr.Group), Size: l.info.Size(), Modified: l.info.ModTime(),
		}
		if l.info.Mode()&fs.ModeSymlink != 0 {
			row.Target, _ = fsys.ReadLinkCtx(ctx, l.path) // it may have been removed meanwhile
		}
		if err := program.WriteJSON(a.Out, row); err != nil {
			return err
		}
	}
	return nil
}

// printable formats a name for one line.
func printable(name string) string {
	for _, c := range name {
		if c < ' ' || c == 0x7f {
			return strconv.Quote(name)
		}
	}
	return name
}

// owners finds the names of users and groups.
type owners struct {
	numeric bool
	known   map[string]string
}

func (o *owners) user(uid uint32) string {
	return o.name(uid, "u", func(id string) (string, error) {
		u, err := user.LookupId(id)
		if err != nil {
			return "", err
		}
		return u.Username, nil
	})
}

func (o *owners) group(gid uint32) string {
	return o.name(gid, "g", func(id string) (string, error) {
		g, err := user.LookupGroupId(id)
		if err != nil {
			return "", err
		}
		return g.Name, nil
	})
}

func (o *owners) name(number uint32, kind string, look func(string) (string, error)) string {
	id := strconv.FormatUint(uint64(number), 10)
	if o.numeric {
		return id
	}
	if o.known == nil {
		o.known = make(map[string]string)
	}
	name, ok := o.known[kind+id]
	if !ok {
		var err error
		if name, err = look(id); err != nil {
			name = id
		}
		o.known[kind+id] = name
	}
	return name
}

// handleOf is the handle of an object; 0 for a local one.
func handleOf(info fs.FileInfo) proto.Handle {
	if i, ok := info.(*client.Info); ok {
		return i.Handle
	}
	return 0
}

// stamp formats a time for stat.
func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05 -0700") }
