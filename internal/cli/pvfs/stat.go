package pvfs

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (a *App) statCommand() *cobra.Command {
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use:     "stat NAME...",
		Short:   "Show everything about an object, and where its bytes are",
		Example: `  pvfs stat --json /data`,
		Long: `Stat shows the attributes of an object. For a file it also shows the layout: how its bytes
are spread, over which servers, and the handle of each part. For a directory it shows the servers
that have its entries.

` + exitHelp,
		Args: program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := a.stat(cmd.Context(), name, follow, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	program.JSONFlag(cmd, &asJSON, described{})
	f.BoolVarP(&follow, "dereference", "L", false, "follow a symbolic link")
	return cmd
}

// described is the output of stat for an object.
type described struct {
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Handle   uint64    `json:"handle"`
	Server   string    `json:"server"`
	Mode     string    `json:"mode"`
	UID      uint32    `json:"uid"`
	GID      uint32    `json:"gid"`
	Size     int64     `json:"size_bytes"`
	Access   time.Time `json:"access"`
	Modified time.Time `json:"modified"`
	Change   time.Time `json:"change"`
	Target   string    `json:"target,omitempty"`
	Entries  *int64    `json:"entries,omitempty"`
	Layout   *layout   `json:"layout,omitempty"`
}

type layout struct {
	Distribution string `json:"distribution,omitempty"`
	Strip        int64  `json:"strip_bytes,omitempty"`
	Stuffed      bool   `json:"stuffed"`
	Parts        []part `json:"parts"`
}

type part struct {
	Server string `json:"server"`
	Handle uint64 `json:"handle"`
}

func (a *App) stat(ctx context.Context, name string, follow, asJSON bool) error {
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	look := fsys.LstatCtx
	if follow {
		look = fsys.StatCtx
	}
	info, err := look(ctx, p.path)
	if err != nil {
		return about(fsys, p, err)
	}
	d := describe(fsys, name, info)
	if asJSON {
		return program.WriteJSON(a.Out, d)
	}
	return a.printStat(d)
}

func describe(fsys *client.FS, name string, info *client.Info) described {
	d := described{
		Name: name, Type: kind(info.Mode()), Handle: uint64(info.Handle), Server: serverOf(fsys, info.Handle),
		Mode: fmt.Sprintf("%04o", info.Attr.Perms), UID: info.Attr.Owner, GID: info.Attr.Group, Size: info.Size(),
		Access: info.AccessTime(), Modified: info.ModTime(), Change: info.ChangeTime(), Target: info.Attr.Target,
	}
	handles := info.Attr.Datafiles
	if info.IsDir() {
		handles = info.Attr.DistDir.Dirdata
		d.Entries = &info.Attr.DirentCount
	}
	if len(handles) == 0 {
		return d
	}
	d.Layout = &layout{Distribution: info.Attr.Dist.Name, Strip: info.Attr.Dist.StripSize, Stuffed: info.Mode().IsRegular() && info.Stuffed()}
	for _, h := range handles {
		d.Layout.Parts = append(d.Layout.Parts, part{serverOf(fsys, h), uint64(h)})
	}
	return d
}

// serverOf is the alias and the address of the server of a handle.
func serverOf(fsys *client.FS, h proto.Handle) string {
	i, ok := fsys.Config().Owner(h)
	if !ok {
		return "(nobody)"
	}
	s := fsys.Config().Servers[i]
	return s.Alias + " (" + s.Address + ")"
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "internal object"
}

func (a *App) printStat(d described) error {
	who := owners{}
	fmt.Fprintf(a.Out, "%s\n  %s of %d bytes, mode %s, owner %s, group %s\n", d.Name, d.Type, d.Size, d.Mode, who.user(d.UID), who.group(d.GID))
	if d.Target != "" {
		fmt.Fprintf(a.Out, "  leads to   %s\n", d.Target)
	}
	fmt.Fprintf(a.Out, "  modified   %s\n  changed    %s\n  accessed   %s\n", stamp(d.Modified), stamp(d.Change), stamp(d.Access))
	fmt.Fprintf(a.Out, "  handle     %d on %s\n", d.Handle, d.Server)
	if d.Entries != nil {
		fmt.Fprintf(a.Out, "  entries    %d\n", *d.Entries)
	}
	if d.Layout == nil {
		return nil
	}
	switch l := d.Layout; {
	case l.Stuffed:
		fmt.Fprintf(a.Out, "  layout     all in one part until it is larger than %d bytes, then %s\n", l.Strip, l.Distribution)
	case l.Distribution != "":
		fmt.Fprintf(a.Out, "  layout     %s, strips of %d bytes over %d parts\n", l.Distribution, l.Strip, len(l.Parts))
	}
	for i, p := range d.Layout.Parts {
		fmt.Fprintf(a.Out, "  part %-5d handle %d on %s\n", i, p.Handle, p.Server)
	}
	return nil
}
