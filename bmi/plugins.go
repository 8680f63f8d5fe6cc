package bmi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// A Loader loads the plugins at the given paths, files or folders, and returns once
// their methods are registered. Every Open calls it, even without paths, because the
// environment may name further plugins.
type Loader func(ctx context.Context, paths []string, log *slog.Logger) error

// loader is set by package plugins, if the program imports it. This package does not
// import it, so that programs without plugins do not contain the code that starts
// other processes.
var loader atomic.Pointer[Loader]

// errNoLoader: Config.Plugins is set in a program that cannot load plugins.
var errNoLoader = errors.New("this program cannot load any, import github.com/viaduct-hpc/viaduct/plugins")

// RegisterLoader lets Open load plugins. The init function of package plugins calls
// it. A second loader is a mistake in the program and panics.
func RegisterLoader(load func(ctx context.Context, paths []string, log *slog.Logger) error) {
	if !loader.CompareAndSwap(nil, (*Loader)(&load)) {
		panic("bmi: a second loader of plugins was registered")
	}
}

// loadPlugins loads the plugins named by the configuration and by the loader's
// environment.
func loadPlugins(ctx context.Context, cfg *Config) error {
	load := loader.Load()
	switch {
	case load != nil:
		if err := (*load)(ctx, cfg.Plugins, cfg.Log); err != nil {
			return err // it names the plugin and says that it cannot be loaded
		}
	case len(cfg.Plugins) > 0:
		return fmt.Errorf("bmi: cannot load plugin %s: %w", cfg.Plugins[0], errNoLoader)
	}
	return nil
}
