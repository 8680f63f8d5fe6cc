package replay

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// Captures is the folder of the captured sessions, which are not part of the module. It is below the folder in VIADUCT_SHARED, or
// in the folder "shared" beside the module. The error says if there is none.
func Captures() (string, error) {
	shared := environ.Getenv("VIADUCT_SHARED")
	if shared == "" {
		root, err := module()
		if err != nil {
			return "", err
		}
		shared = filepath.Join(root, "..", "shared")
	}
	dir := filepath.Join(shared, "orangefs", "captures")
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("no captured sessions: %w (VIADUCT_SHARED names the folder that holds orangefs/captures)", err)
	}
	return dir, nil
}

// module is the folder of the module under test.
func module() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		err = fmt.Errorf("no go.mod above the working directory")
	}
	return "", err
}
