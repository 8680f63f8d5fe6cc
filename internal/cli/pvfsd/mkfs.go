package pvfsd

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
)

func (a *App) mkfsCommand() *cobra.Command {
	var at placeOptions
	cmd := &cobra.Command{
		Use:   "mkfs",
		Short: "Make the empty store of a server",
		Long: `Mkfs makes the folder for a server's part of the file system, and the root directory if this
server owns it. The folder must be empty or not exist.

` + exitHelp,
		Example: `  pvfsd mkfs --config fs.conf --dir /var/lib/pvfsd`,
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return a.mkfs(at) },
	}
	at.flags(cmd)
	return cmd
}

func (a *App) mkfs(at placeOptions) error {
	p, err := at.find()
	if err != nil {
		return err
	}
	if err := empty(p.dir); err != nil {
		return err
	}
	if err := p.make(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "made %s for %s of %s\n", p.dir, p.alias, p.fs.Name)
	return err
}

// empty checks that a folder is empty, or does not exist.
func empty(dir string) error {
	there, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(there) > 0:
		if ok, err := exists(dir); err == nil && ok {
			return program.Usagef("%s has a store already; remove it first if its contents are not needed", dir)
		}
		return program.Usagef("%s is not empty", dir)
	}
	return nil
}

// make makes the store of a server.
func (p *place) make() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	st, err := open(p.dir, p.options())
	if err != nil {
		return err
	}
	err = server.MakeRoot(server.Config{FS: p.fs, Alias: p.alias, Store: st})
	return errors.Join(err, st.Close())
}
