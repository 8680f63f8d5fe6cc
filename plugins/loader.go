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
)

// PathsEnv names the environment variable with the plugins that a program loads at its
// first bmi.Open, besides those of bmi.Config.Plugins: files, or folders to look for some,
// separated by ':'. PassEnv names the one with the names, separated by ',', of those
// variables that plugins are given of the program's environment.
const (
	PathsEnv = "BMI_PLUGINS"
	PassEnv  = "BMI_PLUGIN_ENV"
)

func init() { bmi.RegisterLoader(load) }

// loading serialises what bmi.Open has loaded.
var loading struct {
	sync.Mutex
	environment bool // PathsEnv was looked at
}

// load is what bmi.Open loads plugins with: those of the environment once, where one that
// cannot be loaded is a line of the log; those of paths unless they are loaded.
func load(ctx context.Context, paths []string, log *slog.Logger) error {
	loading.Lock()
	defer loading.Unlock()
	if !loading.environment {
		loading.environment = true
		for _, path := range filepath.SplitList(os.Getenv(PathsEnv)) {
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

// loadPath loads a file, or those of a folder. Each that cannot be loaded has its error.
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

// isLoaded reports whether the plugin of a file is loaded: by its path, under which there
// may be a newer file by now, or by another one.
func isLoaded(file string) bool {
	path, _ := filepath.Abs(file) // "" is no plugin's path
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

// passed are the names of the variables that plugins are given.
func passed() []string {
	var names []string
	for name := range strings.SplitSeq(os.Getenv(PassEnv), ",") {
		if name = strings.TrimSpace(name); name != "" && !strings.Contains(name, "=") {
			names = append(names, name)
		}
	}
	return names
}
