package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// methodInfo is one line of `bmi info -json`.
type methodInfo struct {
	Method            string            `json:"method"`
	Description       string            `json:"description"`
	Provider          string            `json:"provider"`
	MaxExpectedSize   int               `json:"max_expected_size"`
	MaxUnexpectedSize int               `json:"max_unexpected_size"`
	EagerSize         int               `json:"eager_size"`
	MaxPieces         int               `json:"max_pieces"`
	Classes           bool              `json:"classes"`
	RegisteredMemory  bool              `json:"registered_memory"`
	RemoteRead        bool              `json:"remote_read"`
	RemoteWrite       bool              `json:"remote_write"`
	FileSends         bool              `json:"file_sends"`
	Details           map[string]string `json:"details,omitempty"`
	// Error is why the method cannot be used here; the other fields are then
	// empty.
	Error string `json:"error,omitempty"`
}

func (a *App) infoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info [METHOD]",
		Short: "Show methods, their providers, capabilities and limits",
		Args:  program.Between(0, 1, "at most one METHOD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := program.Methods()
			if len(args) == 1 {
				if err := checkMethod(args[0]); err != nil {
					return err
				}
				names = args
			}
			var infos []methodInfo
			for _, name := range names {
				infos = append(infos, lookAt(cmd.Context(), name))
			}
			if asJSON {
				return printInfoJSON(a.Out, infos)
			}
			return printInfo(a.Out, infos)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per method and line")
	return cmd
}

// lookAt opens a method briefly. Each gets its own endpoint, so that a method
// that does not work here does not hide the others.
func lookAt(ctx context.Context, name string) methodInfo {
	ep, err := bmi.Open(ctx, bmi.Config{Methods: []string{name}})
	if err != nil {
		return methodInfo{Method: name, Error: err.Error()}
	}
	out := methodInfo{Method: name, Error: "the method was opened but tells nothing"}
	for _, i := range ep.Info() {
		if i.Name == name {
			out = fromInfo(i)
		}
	}
	if err := ep.Close(); err != nil && out.Error == "" {
		out.Error = err.Error()
	}
	return out
}

func fromInfo(i bmi.Info) methodInfo {
	out := methodInfo{
		Method: i.Name, Description: i.Description, Provider: i.Provider,
		MaxExpectedSize: i.MaxExpectedSize, MaxUnexpectedSize: i.MaxUnexpectedSize, EagerSize: i.EagerSize, MaxPieces: i.MaxPieces,
		Classes: i.Classes, RegisteredMemory: i.RegisteredMemory, RemoteRead: i.RemoteRead, RemoteWrite: i.RemoteWrite,
		FileSends: i.FileSends,
	}
	for _, d := range i.Details {
		if out.Details == nil {
			out.Details = make(map[string]string)
		}
		out.Details[d[0]] = d[1]
	}
	return out
}

func printInfoJSON(w io.Writer, infos []methodInfo) error {
	enc := json.NewEncoder(w)
	for _, i := range infos {
		if err := enc.Encode(i); err != nil {
			return err
		}
	}
	return nil
}

func printInfo(w io.Writer, infos []methodInfo) error {
	if len(infos) == 0 {
		_, err := fmt.Fprintln(w, "This binary was built without any method.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for n, i := range infos {
		if n > 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintf(table, "method\t%s\n", i.Method)
		if i.Error != "" {
			fmt.Fprintf(table, "unusable\t%s\n", i.Error)
			continue
		}
		fmt.Fprintf(table, "description\t%s\nprovider\t%s\n", i.Description, i.Provider)
		fmt.Fprintf(table, "largest message\t%s\n", perf.FormatSize(i.MaxExpectedSize))
		fmt.Fprintf(table, "largest unexpected message\t%s\n", perf.FormatSize(i.MaxUnexpectedSize))
		fmt.Fprintf(table, "sent without asking up to\t%s\n", perf.FormatSize(i.EagerSize))
		fmt.Fprintf(table, "most pieces in a list\t%d\n", i.MaxPieces)
		for _, c := range []struct {
			name string
			has  bool
		}{
			{"classes of unexpected messages", i.Classes}, {"registered memory", i.RegisteredMemory},
			{"remote read", i.RemoteRead}, {"remote write", i.RemoteWrite}, {"sends from files", i.FileSends},
		} {
			fmt.Fprintf(table, "%s\t%s\n", c.name, yesNo(c.has))
		}
		for _, name := range slices.Sorted(maps.Keys(i.Details)) {
			fmt.Fprintf(table, "%s\t%s\n", name, i.Details[name])
		}
	}
	return table.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
