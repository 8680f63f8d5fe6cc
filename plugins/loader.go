package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// PathsEnv names the environment variable that lists the plugins which a program loads at its first
// bmi.Open, in addition to those of bmi.Config.Plugins: files, or folders to search, separated by
// ':'. PassEnv names the one that lists the environment variables which plugins inherit, separated
// by ','.
const (
	PathsEnv = "BMI_PLUGINS"
	PassEnv  = "BMI_PLUGIN_ENV"
)

func init() { bmi.RegisterLoader(load) }

// loading serialises the loads of bmi.Open.
var loading struct {
	sync.Mutex
	environment bool   // the plugins of PathsEnv have been loaded
	paths       string // PathsEnv, when they were
}

// load loads the plugins for bmi.Open. It loads those of the environment once; a plugin of these
// that cannot be loaded is only logged. It loads those of paths unless they are loaded already.
func load(ctx context.Context, paths []string, log *slog.Logger) error {
	loading.Lock()
	defer loading.Unlock()
	if !loading.environment {
		loading.environment, loading.paths = true, environ.Getenv(PathsEnv)
		for _, path := range filepath.SplitList(loading.paths) {
			if path == "" {
				continue
			}
			for _, err := range loadPath(ctx, path, log) {
				log.Error("a plugin of "+PathsEnv+" is not loaded", "error", err)
			}
		}
	}
	var errs []error
	for _, path := range paths {
		errs = append(errs, loadPath(ctx, path, log)...)
	}
	return errors.Join(errs...)
}

// loadPath loads a file, or the plugins in a folder. It returns an error for each that cannot be
// loaded.
func loadPath(ctx context.Context, path string, log *slog.Logger) []error {
	files := []string{path}
	var errs []error
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		if files, errs = discover(path); len(files) == 0 && len(errs) == 0 {
			errs = append(errs, fmt.Errorf("%w: there is no plugin in %s, their names begin with %s", ErrRefused, path, Prefix))
		}
	}
	for _, file := range files {
		if isLoaded(file) {
			continue
		}
		if _, err := Load(ctx, file, Options{Log: log, Env: passed()}); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// isLoaded reports whether the plugin of a file is loaded: from its path, where there may be a newer
// file by now, or from another path.
func isLoaded(file string) bool {
	path, _ := filepath.Abs(file) // "" is never a plugin's path
	st, err := os.Stat(file)
	for _, p := range Loaded() {
		if p.path == path {
			return true
		}
		if other, bad := os.Stat(p.path); bad == nil && err == nil && os.SameFile(st, other) {
			return true
		}
	}
	return false
}

// passed returns the names of the variables that plugins inherit.
func passed() []string {
	var names []string
	for name := range strings.SplitSeq(environ.Getenv(PassEnv), ",") {
		if name = strings.TrimSpace(name); name != "" && !strings.Contains(name, "=") {
			names = append(names, name)
		}
	}
	return names
}
