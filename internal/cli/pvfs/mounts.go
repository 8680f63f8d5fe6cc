package pvfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// defaultTab is the administrator's list of file systems.
const defaultTab = "/etc/pvfs2tab"

// mounts are the file systems that a command has mounted, by source.
type mounts map[string]*client.FS

func (m mounts) close() error {
	var err error
	for source, fs := range m {
		err = errors.Join(err, fs.Close())
		delete(m, source)
	}
	return err
}

// on mounts the file system of a name, unless it is mounted already.
func (a *App) on(ctx context.Context, p place) (*client.FS, error) {
	source := p.fs
	if source == "" {
		var err error
		if source, err = a.source(); err != nil {
			return nil, err
		}
	}
	if fs, ok := a.mounts[source]; ok {
		return fs, nil
	}
	opt := a.mount
	if a.userFlag != "" {
		id, err := parseUser(a.userFlag)
		if err != nil {
			return nil, err
		}
		opt.User = &id
	}
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	opt.Key = key
	self := uint32(os.Geteuid())
	if opt.User != nil {
		self = opt.User.UID
	}
	opt.Certificate = a.certificates(self)
	fs, err := client.Mount(ctx, source, opt)
	if err != nil {
		return nil, err
	}
	if a.mounts == nil {
		a.mounts = make(mounts)
	}
	a.mounts[source] = fs
	return fs, nil
}

// keyVariable names the file with this machine's private key, as for OrangeFS's programs.
const keyVariable = "PVFS2KEY_FILE"

// key is this machine's private key; nil if it has none.
func (a *App) key() (*credential.Key, error) {
	name := a.keyFlag
	if name == "" {
		name = a.getenv(keyVariable)
	}
	if name == "" {
		return nil, nil
	}
	key, err := credential.ReadKey(name)
	if err != nil {
		return nil, program.Usage(err)
	}
	return key, nil
}

// find is on for a name from the command line.
func (a *App) find(ctx context.Context, name string) (*client.FS, place, error) {
	p, err := remote(name)
	if err != nil {
		return nil, p, err
	}
	fs, err := a.on(ctx, p)
	return fs, p, err
}

func (a *App) getenv(key string) string {
	if a.Getenv != nil {
		return a.Getenv(key)
	}
	return environ.Getenv(key)
}

// source is the source of the default file system.
func (a *App) source() (string, error) {
	if a.fsFlag != "" {
		return a.fsFlag, nil
	}
	file := a.getenv("PVFS2TAB_FILE")
	if file == "" {
		file = defaultTab
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", program.Usagef("which file system? Give --fs tcp://HOST:PORT/NAME, or name a pvfs2tab in PVFS2TAB_FILE (%w)", err)
	}
	tabs, err := config.ParseTabFile(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	if len(tabs) == 0 {
		return "", program.Usagef("%s has no file system in it; a line looks like: tcp://HOST:PORT/NAME /mnt/pvfs2 pvfs2 defaults 0 0", file)
	}
	return sourceOf(tabs[0]), nil
}

// sourceOf is the source for client.Mount from a line of a pvfs2tab.
func sourceOf(t config.Tab) string {
	sources := make([]string, len(t.Servers))
	for i, s := range t.Servers {
		sources[i] = s + "/" + t.FS
	}
	return strings.Join(sources, ",")
}

// parseUser parses 1000 and 1000:100,200.
func parseUser(text string) (client.Identity, error) {
	var id client.Identity
	user, groups, _ := strings.Cut(text, ":")
	uid, err := strconv.ParseUint(user, 10, 32)
	id.UID = uint32(uid)
	if groups == "" {
		id.Groups = []uint32{id.UID}
	} else {
		for group := range strings.SplitSeq(groups, ",") {
			gid, e := strconv.ParseUint(group, 10, 32)
			err = errors.Join(err, e)
			id.Groups = append(id.Groups, uint32(gid))
		}
	}
	if err != nil {
		return id, program.Usagef("bad --user %q: want UID or UID:GID,GID, in numbers", text)
	}
	return id, nil
}
