package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/plugins/process"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// pluginInfo is one line of `bmi plugins list -json`.
type pluginInfo struct {
	Name    string   `json:"name,omitempty"`
	Path    string   `json:"path,omitempty"`
	Version string   `json:"version,omitempty"`
	Methods []string `json:"methods,omitempty"`
	// Data is the path of messages to the plugin: "rings" in shared memory, or "grpc".
	Data string `json:"data,omitempty"`
	// Plaintext: the plugin cannot encrypt gRPC traffic.
	Plaintext bool `json:"plaintext,omitempty"`
	// Error is why the plugin is refused.
	Error string `json:"error,omitempty"`
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
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.pluginsList(cmd.Context(), args, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per plugin and line")
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
	if asJSON {
		return printPluginsJSON(a.Out, infos)
	}
	return printPlugins(a.Out, places, infos)
}

// pluginPlaces are the folders and files that list searches.
func pluginPlaces(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	var places []string
	for _, place := range filepath.SplitList(os.Getenv(pluginsVariable)) {
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
		flags.plaintext, out.Plaintext = true, true
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
func dataOf(p *plugins.Plugin) string {
	if p.Rings() {
		return "rings"
	}
	return "grpc"
}

func printPluginsJSON(w io.Writer, infos []pluginInfo) error {
	enc := json.NewEncoder(w)
	for _, i := range infos {
		if err := enc.Encode(i); err != nil {
			return err
		}
	}
	return nil
}

func printPlugins(w io.Writer, places []string, infos []pluginInfo) error {
	if len(infos) == 0 {
		_, err := fmt.Fprintf(w, "There is no plugin (no file %s*) in %s.\n", plugins.Prefix, strings.Join(places, ", "))
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for n, i := range infos {
		if n > 0 {
			fmt.Fprintln(table)
		}
		for _, line := range [][2]string{
			{"plugin", i.Name}, {"path", i.Path}, {"version", i.Version},
			{"methods", strings.Join(i.Methods, ", ")}, {"messages", dataText[i.Data]}, {"needs", needs[i.Plaintext]}, {"refused", i.Error},
		} {
			if line[1] != "" {
				fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
			}
		}
	}
	return table.Flush()
}

// dataText and needs are pluginInfo.Data and Plaintext as text for people.
var needs = map[bool]string{true: "-plaintext: it cannot encrypt what gRPC carries"}

var dataText = map[string]string{"rings": "through rings in shared memory", "grpc": "through gRPC alone"}
