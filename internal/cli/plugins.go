package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// pluginsVariable lists the plugins, files or folders, that every command loads.
const pluginsVariable = "BMI_PLUGINS"

// unloadTimeMax bounds how long a plugin may take to end.
const unloadTimeMax = 5 * time.Second

func (a *App) pluginsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "Find, check and use plugins: methods in processes of their own",
		Long: `A plugin is an executable file bmi-method-NAME that offers methods, and runs them in
a process of its own. All commands load those that BMI_PLUGINS names, files or
folders separated by colons, and give them the variables of the environment that
BMI_PLUGIN_ENV lists, separated by commas.

` + exitHelp,
		Example: `  bmi plugins list bin
  bmi plugins check bin/bmi-method-via --basic`,
		Args: cobra.ArbitraryArgs,
		RunE: program.Unknown,
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.pluginsListCommand(), a.pluginsCheckCommand(), a.pluginsRunCommand(), a.pluginsPeerCommand())
	return cmd
}

// loadPlugins loads the plugins of the environment before a command looks up its
// method. A plugin that cannot be loaded is logged.
func (a *App) loadPlugins(cmd *cobra.Command, _ []string) (err error) {
	if environ.Getenv(pluginsVariable) == "" {
		return nil
	}
	log, err := a.log.Logger(a.Err, slog.LevelWarn)
	if err != nil {
		return err
	}
	ep, err := bmi.Open(cmd.Context(), bmi.Config{Log: log})
	if err != nil {
		return err
	}
	return ep.Close()
}

// warnings is a log for messages that a user at a terminal should see.
func (a *App) warnings() *slog.Logger {
	log, err := a.log.Logger(a.Err, slog.LevelWarn)
	if err != nil { // the command itself reports it
		log = slog.New(slog.DiscardHandler)
	}
	return log
}

// pluginFlags are the flags that say how to start a plugin.
type pluginFlags struct {
	env       []string
	sha256    string
	noRings   bool
	plaintext bool
}

func (p *pluginFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&p.env, "env", nil, "give the plugin this variable, `K=V` or K for the value it has here; it gets no other (repeatable)")
	f.StringVar(&p.sha256, "sha256", "", "refuse the plugin unless this is the SHA-256 of its file, in hexadecimal")
	f.BoolVar(&p.noRings, "no-rings", false, "use gRPC alone, no shared memory")
	f.BoolVar(&p.plaintext, "plaintext", false, "do not encrypt the gRPC connection, for plugins that cannot do mutual TLS")
}

// args are the flags that give the same options to another process.
func (p *pluginFlags) args() []string {
	var args []string
	for _, e := range p.env {
		args = append(args, "--env="+e)
	}
	if p.sha256 != "" {
		args = append(args, "--sha256="+p.sha256)
	}
	if p.noRings {
		args = append(args, "--no-rings")
	}
	if p.plaintext {
		args = append(args, "--plaintext")
	}
	return args
}

// load starts the plugin. Its methods replace those of the same names.
func (p *pluginFlags) load(ctx context.Context, path string, log *slog.Logger) (*plugins.Plugin, error) {
	for _, e := range p.env {
		if name, _, _ := strings.Cut(e, "="); name == "" {
			return nil, program.Usagef("bad --env %q: want K=V, or K for the value that it has here", e)
		}
	}
	loaded, err := plugins.Load(ctx, path, plugins.Options{
		Replace: true, Env: p.env, SHA256: p.sha256, NoRings: p.noRings, Plaintext: p.plaintext, Log: log,
	})
	if errors.Is(err, process.ErrPlaintext) {
		err = fmt.Errorf("%w (--plaintext)", err)
	}
	return loaded, err
}

// unload ends a plugin, even after the command was interrupted, and adds any error to
// err.
func unload(p *plugins.Plugin, err *error) {
	ctx, cancel := context.WithTimeout(context.Background(), unloadTimeMax)
	defer cancel()
	*err = errors.Join(*err, p.Unload(ctx))
}

// pluginFile is the absolute path of a plugin. For a path that does not exist the error
// lists the existing plugins.
func pluginFile(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Lstat(path) // a broken link is reported by the code that follows it
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", program.Usagef("there is no plugin %q%s", path, nearPlugins(path))
	case err != nil:
		return "", program.Usage(err)
	case info.IsDir():
		return "", program.Usagef("%s is a folder; 'bmi plugins list %s' shows the plugins in it", path, path)
	}
	return filepath.Abs(path)
}

// nearPlugins lists the plugins in the folder of a path, or else those of that name
// beside this program.
func nearPlugins(path string) string {
	if found := pluginsIn(filepath.Dir(path)); len(found) > 0 {
		return "; there is " + strings.Join(found, ", ")
	}
	if home, err := ownFolder(); err == nil && filepath.Base(path) == path {
		if found := pluginsIn(home); len(found) > 0 {
			return "; did you mean " + strings.Join(found, " or ") + "?"
		}
	}
	return fmt.Sprintf("; plugins are files called %sNAME", plugins.Prefix)
}

// pluginsIn are the files in a folder that may be plugins.
func pluginsIn(folder string) []string {
	found, _ := plugins.Discover(folder) // files that cannot be plugins are not worth suggesting
	return found
}

// ownFolder is the folder of this program and of the plugins that came with it.
func ownFolder() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Dir(self), nil
}
