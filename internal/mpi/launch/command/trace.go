package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// applyTrace makes each process write its trace to a file in a folder, which must be new or empty: with files of another job in it,
// "bmi trace join FOLDER" would mix the two. The processes make the folder, each on its host.
func applyTrace(cfg *launch.Config, folder string) error {
	if folder == "" {
		return nil
	}
	there, err := os.ReadDir(folder)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usagef("--trace %s: %v", folder, err)
	case len(there) > 0:
		return usagef("--trace %s: there is something in this folder: name a new one, or empty it", folder)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	if above, err := os.Stat(filepath.Dir(folder)); err != nil || !above.IsDir() {
		return usagef("--trace %s: there is no folder %s", folder, filepath.Dir(folder))
	}
	pattern := trace.Variable + "=" + filepath.Join(strings.ReplaceAll(folder, "%", "%%"), "rank-%r.json")
	for i := range cfg.Programs {
		cfg.Programs[i].Env = append([]string{pattern}, cfg.Programs[i].Env...)
	}
	return nil
}
