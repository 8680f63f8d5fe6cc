package pvfsd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// placeOptions select the server.
type placeOptions struct {
	config, fs, alias, dir string
}

func (o *placeOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "the configuration of the file system, fs.conf; the same on all servers")
	f.StringVar(&o.fs, "fs-name", "", "the name of the file system, if the configuration has several")
	f.StringVar(&o.alias, "alias", "", "alias of this server; not needed if there is only one")
	f.StringVar(&o.dir, "dir", "", "the folder with the data (default: MetadataStorageSpace of the configuration)")
	_ = cmd.MarkFlagFilename("config", "conf")
	_ = cmd.MarkFlagDirname("dir")
}

// A place is one server of a file system and its folder.
type place struct {
	fs    *config.Config
	index int // in fs.Servers
	alias string
	dir   string
}

// databaseName is a file that every store has.
const databaseName = "meta.db"

// read reads the configuration.
func (o *placeOptions) read() (*config.Config, error) {
	if o.config == "" {
		return nil, program.Usagef("which configuration? Give --config fs.conf; pvfsd genconfig makes one")
	}
	text, err := os.ReadFile(o.config)
	if err != nil {
		return nil, program.Usage(err)
	}
	if names, err := config.Names(string(text)); o.fs == "" && err == nil && len(names) > 1 {
		return nil, program.Usagef("%s has several file systems, choose with --fs-name: %s", o.config, strings.Join(names, ", "))
	}
	c, err := config.ParseWith(string(text), config.Options{File: o.config, FS: o.fs})
	if err != nil {
		return nil, program.Usage(err)
	}
	return c, nil
}

// find reads the configuration and finds the server in it.
func (o *placeOptions) find() (*place, error) {
	c, err := o.read()
	if err != nil {
		return nil, err
	}
	p := &place{fs: c, alias: o.alias, dir: o.dir}
	if p.alias == "" {
		if len(c.Servers) != 1 {
			return nil, program.Usagef("which server is this? Give --alias, one of: %s", aliases(c))
		}
		p.alias = c.Servers[0].Alias
	}
	if p.index = c.Index(p.alias); p.index < 0 {
		return nil, program.Usagef("%s has no server %q; its servers are: %s", o.config, p.alias, aliases(c))
	}
	if p.dir == "" {
		p.dir = c.MetaDir(p.index)
	}
	if p.dir == "" {
		return nil, program.Usagef("in which folder are the data? Give --dir, or MetadataStorageSpace in %s", o.config)
	}
	return p, nil
}

func aliases(c *config.Config) string {
	var all []string
	for _, s := range c.Servers {
		all = append(all, s.Alias)
	}
	return strings.Join(all, ", ")
}

// exists reports whether a folder has a store.
func exists(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, databaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// mustExist returns an error for a folder without a store.
func mustExist(dir, how string) error {
	ok, err := exists(dir)
	if err != nil {
		return err
	}
	if !ok {
		return program.Usagef("%s has no store of pvfsd; %s", dir, how)
	}
	return nil
}

// open opens the store, and explains an error for this command.
func open(dir string, opts store.Options) (*store.Store, error) {
	s, err := store.Open(dir, opts)
	if errors.Is(err, syscall.EBUSY) {
		return nil, fault.Mark(fmt.Errorf("another process works with %s: end it first", dir), errInUse, err)
	}
	return s, err
}

// options are the store options from the configuration.
func (p *place) options() store.Options {
	srv := p.fs.Servers[p.index]
	return store.Options{Meta: srv.Meta, Data: srv.Data, NoSyncMeta: !p.fs.SyncMeta, SyncData: p.fs.SyncData}
}
