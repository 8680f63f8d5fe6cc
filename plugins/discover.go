package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/plugins/trust"
)

// Discover lists, sorted by name, the files of a folder whose names begin with Prefix. The error
// names the files that Load would refuse without reading them, with the reasons; the other files
// are listed in any case.
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
