package bmi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// A Loader loads the plugins at the given paths, files or folders, so that what they
// offer is registered when it returns. It is called at every Open, also without paths:
// it knows then what else to load, from the environment.
type Loader func(ctx context.Context, paths []string, log *slog.Logger) error

// loader is package plugins, if the program imports it. This package does not, so that
// who has no use for other processes does not carry what starts them.
var loader atomic.Pointer[Loader]

// errNoLoader: Config.Plugins is of no use to a program that cannot load any.
var errNoLoader = errors.New("this program cannot load any, import github.com/viaduct-hpc/viaduct/plugins")

// RegisterLoader makes Open able to load plugins. It is called from an init function,
// that of package plugins; a second loader is a mistake in the program and panics.
func RegisterLoader(load func(ctx context.Context, paths []string, log *slog.Logger) error) {
	if !loader.CompareAndSwap(nil, (*Loader)(&load)) {
		panic("bmi: a second loader of plugins was registered")
	}
}

// loadPlugins loads what the configuration and the loader's environment name.
func loadPlugins(ctx context.Context, cfg *Config) error {
	load := loader.Load()
	switch {
	case load != nil:
		if err := (*load)(ctx, cfg.Plugins, cfg.Log); err != nil {
			return err // it says of which plugin it is, and that it cannot be loaded
		}
	case len(cfg.Plugins) > 0:
		return fmt.Errorf("bmi: cannot load plugin %s: %w", cfg.Plugins[0], errNoLoader)
	}
	return nil
}
