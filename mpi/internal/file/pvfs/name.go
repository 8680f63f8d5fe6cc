package pvfs

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// Environment variables and files, as for OrangeFS's programs.
const (
	tabVariable  = "PVFS2TAB_FILE"
	tabDefault   = "/etc/pvfs2tab"
	keyVariable  = "PVFS2KEY_FILE"
	certVariable = "PVFS2CERT_FILE"
	certName     = ".pvfs2-cert.pem"
	certKeyName  = ".pvfs2-cert-key.pem"
)

// split finds the file system and the path in a name: tcp://host:3334/pvfs2-fs/dir/file, or a path
// below a mount point of the pvfs2tab.
func split(name string) (source, path string, err error) {
	if scheme, rest, ok := strings.Cut(name, "://"); ok {
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) < 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
			return "", "", errclass.New(errclass.BadFile, "pvfs:%s names no file: write pvfs:tcp://HOST:PORT/FILESYSTEM/PATH", name)
		}
		return scheme + "://" + parts[0] + "/" + parts[1], parts[2], nil
	}
	file := cmp.Or(environ.Getenv(tabVariable), tabDefault)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", errclass.Wrap(errclass.NoSuchFile, err, "the mount point of pvfs:%s is not known without a pvfs2tab: name one in %s, or write pvfs:tcp://HOST:PORT/FILESYSTEM/PATH", name, tabVariable)
	}
	tabs, err := config.ParseTabFile(string(text))
	if err != nil {
		return "", "", errclass.Wrap(errclass.Other, err, "the pvfs2tab %s is damaged", file)
	}
	clean, best := filepath.Clean(name), -1
	for i, t := range tabs {
		if under(clean, t.Dir) && (best < 0 || len(t.Dir) > len(tabs[best].Dir)) {
			best = i
		}
	}
	if best < 0 {
		return "", "", errclass.New(errclass.NoSuchFile, "%s is below no mount point of the pvfs2tab %s", name, file)
	}
	t := tabs[best]
	sources := make([]string, len(t.Servers))
	for i, s := range t.Servers {
		sources[i] = s + "/" + t.FS
	}
	return strings.Join(sources, ","), strings.TrimPrefix(clean, filepath.Clean(t.Dir)), nil
}

// under tells whether a name is below a directory.
func under(name, dir string) bool {
	if dir == "" {
		return false
	}
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../")
}

// mount mounts the file system of a name for the user of this process.
func mount(ctx context.Context, name string) (f *client.FS, path string, err error) {
	source, path, err := split(name)
	if err != nil {
		return nil, "", err
	}
	// Other processes change the file meanwhile, so its size is not cached.
	o := client.Options{SizeTime: -1, Certificate: certificate}
	if key := environ.Getenv(keyVariable); key != "" {
		if o.Key, err = credential.ReadKey(key); err != nil {
			return nil, "", errclass.Wrap(errclass.Access, err, "the key that %s names cannot be used", keyVariable)
		}
	}
	f, err = client.Mount(ctx, source, o)
	return f, path, err
}

// certificate returns the certificate of the user of this process.
func certificate(id client.Identity) (*usercert.Certificate, error) {
	if int(id.UID) != os.Geteuid() {
		return nil, fs.ErrNotExist
	}
	home := os.Getenv("HOME")
	return usercert.Read(cmp.Or(environ.Getenv(certVariable), filepath.Join(home, certName)),
		cmp.Or(environ.Getenv(keyVariable), filepath.Join(home, certKeyName)))
}
