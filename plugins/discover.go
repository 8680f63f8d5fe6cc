package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/viaduct-hpc/viaduct/plugins/trust"
)

// Discover lists the files of a folder whose names begin with Prefix, by name. The error
// names those that Load would refuse without looking at what is in them, and why; the
// others are listed all the same.
func Discover(dir string) ([]string, error) {
	paths, errs := discover(dir)
	return paths, errors.Join(errs...)
}

func discover(dir string) (paths []string, errs []error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, []error{fmt.Errorf("plugins: cannot look for plugins: %w", err)}
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), Prefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := trust.Check(path); err != nil {
			errs = append(errs, fmt.Errorf("plugins: %w", err))
			continue
		}
		paths = append(paths, path)
	}
	return paths, errs
}
