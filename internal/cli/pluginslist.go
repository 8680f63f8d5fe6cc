package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// pluginInfo is one plugin of `bmi plugins list`.
type pluginInfo struct {
	Name    string   `json:"name,omitempty" table:"plugin"`
	Path    string   `json:"path,omitempty" table:"path"`
	Version string   `json:"version,omitempty" table:"version"`
	Methods []string `json:"methods,omitempty" table:"methods"`
	// Data is the path of messages to the plugin: "rings" in shared memory, or "grpc".
	Data dataPath `json:"data,omitempty" table:"messages"`
	// Plaintext: the plugin cannot encrypt gRPC traffic.
	Plaintext plaintext `json:"plaintext,omitempty" table:"needs"`
	// Error is why the plugin is refused.
	Error string `json:"error,omitempty" table:"refused"`
}

type (
	dataPath  string
	plaintext bool
)

// Cell is the path for people.
func (d dataPath) Cell() string {
	return map[dataPath]string{"rings": "through rings in shared memory", "grpc": "through gRPC alone"}[d]
}

// Cell returns the text that warns the user.
func (p plaintext) Cell() string {
	if p {
		return "--plaintext: it cannot encrypt what gRPC carries"
	}
	return ""
}

func (a *App) pluginsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [DIR...]",
		Short: "Show the plugins in folders, and what they offer",
		Long: `List starts each plugin in the folders for a moment and shows its methods, or why it
is refused. Without a DIR it searches the folders in BMI_PLUGINS, and without that
the folder of the bmi command itself.

` + exitHelp,
		Example: `  bmi plugins list
  bmi plugins list bin --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pluginsList(cmd.Context(), args, asJSON)
		},
	}
	program.JSONFlag(cmd, &asJSON, pluginInfo{})
	return cmd
}

func (a *App) pluginsList(ctx context.Context, args []string, asJSON bool) error {
	for _, place := range args {
		if _, err := os.Stat(place); err != nil {
			return program.Usage(err)
		}
	}
	places, err := pluginPlaces(args)
	if err != nil {
		return err
	}
	var infos []pluginInfo
	for _, place := range places {
		files, refused := filesAt(place)
		for _, file := range files {
			if err := ctx.Err(); err != nil {
				return err
			}
			infos = append(infos, lookAtPlugin(ctx, file))
		}
		infos = append(infos, refused...)
	}
	return printPlugins(a.Out, places, infos, asJSON)
}

// pluginPlaces are the folders and files that list searches.
func pluginPlaces(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	var places []string
	for _, place := range filepath.SplitList(environ.Getenv(pluginsVariable)) {
		if place != "" {
			places = append(places, place)
		}
	}
	if len(places) > 0 {
		return places, nil
	}
	home, err := ownFolder()
	return []string{home}, err
}

// filesAt returns the plugins at a place, and those that are rejected before they are
// started.
func filesAt(place string) (files []string, refused []pluginInfo) {
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, []pluginInfo{{Path: place, Error: "there is no such file or folder"}}
	case err != nil:
		return nil, []pluginInfo{{Path: place, Error: err.Error()}}
	case !info.IsDir():
		return []string{place}, nil
	}
	files, err = plugins.Discover(place)
	for _, err := range parts(err) {
		refused = append(refused, pluginInfo{Error: err.Error()})
	}
	return files, refused
}

// parts are the errors that were joined into one.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// lookAtPlugin starts a plugin briefly, with an empty environment.
func lookAtPlugin(ctx context.Context, path string) (out pluginInfo) {
	out.Path = path
	if abs, err := filepath.Abs(path); err == nil {
		out.Path = abs
	}
	flags := &pluginFlags{}
	p, err := flags.load(ctx, out.Path, nil)
	if errors.Is(err, process.ErrPlaintext) {
		flags.plaintext, out.Plaintext = true, plaintext(true)
		p, err = flags.load(ctx, out.Path, nil)
	}
	if err == nil {
		out.Name, out.Version, out.Methods, out.Data = p.Name(), p.Version(), p.Methods(), dataOf(p)
		unload(p, &err)
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// dataOf returns the path of messages to a plugin.
func dataOf(p *plugins.Plugin) dataPath {
	if p.Rings() {
		return "rings"
	}
	return "grpc"
}

func printPlugins(w io.Writer, places []string, infos []pluginInfo, inJSON bool) error {
	if len(infos) == 0 && !inJSON {
		_, err := fmt.Fprintf(w, "There is no plugin (no file %s*) in %s.\n", plugins.Prefix, strings.Join(places, ", "))
		return err
	}
	table := program.NewTable[pluginInfo](w, inJSON).Records()
	for _, i := range infos {
		if err := table.Add(i); err != nil {
			return err
		}
	}
	return table.Flush()
}
