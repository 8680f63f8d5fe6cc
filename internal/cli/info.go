package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// methodInfo is one method of `bmi info`.
type methodInfo struct {
	Method string `json:"method" table:"method"`
	*Capabilities
	// Error is why the method cannot be used here. It then has no capabilities.
	Error string `json:"error,omitempty" table:"unusable"`
}

// Capabilities are the abilities and limits of a method.
type Capabilities struct {
	Description       string             `json:"description" table:"description"`
	Provider          string             `json:"provider" table:"provider"`
	MaxExpectedSize   program.ExactBytes `json:"max_expected_bytes" table:"largest message"`
	MaxUnexpectedSize program.ExactBytes `json:"max_unexpected_bytes" table:"largest unexpected message"`
	EagerSize         program.ExactBytes `json:"eager_bytes" table:"sent without asking up to"`
	MaxPieces         int                `json:"max_pieces" table:"most pieces in a list"`
	Classes           bool               `json:"classes" table:"classes of unexpected messages"`
	RegisteredMemory  bool               `json:"registered_memory" table:"registered memory"`
	RemoteRead        bool               `json:"remote_read" table:"remote read"`
	RemoteWrite       bool               `json:"remote_write" table:"remote write"`
	FileSends         bool               `json:"file_sends" table:"sends from files"`
	Details           map[string]string  `json:"details,omitempty"`
}

// More are the details of the method.
func (i methodInfo) More() (lines [][2]string) {
	if i.Capabilities == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(i.Details)) {
		lines = append(lines, [2]string{name, i.Details[name]})
	}
	return lines
}

func (a *App) infoCommand() *cobra.Command {
	var inJSON bool
	cmd := &cobra.Command{
		Use:   "info [METHOD]",
		Short: "Show methods, their providers, capabilities and limits",
		Example: `  bmi info
  bmi info via+shm --json`,
		Args: program.Between(0, 1, "at most one METHOD"),
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
			return printInfo(a.Out, infos, inJSON)
		},
	}
	program.JSONFlag(cmd, &inJSON, methodInfo{})
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
	out := methodInfo{Method: i.Name, Capabilities: &Capabilities{
		Description: i.Description, Provider: i.Provider,
		MaxExpectedSize: program.ExactBytes(i.MaxExpectedSize), MaxUnexpectedSize: program.ExactBytes(i.MaxUnexpectedSize),
		EagerSize: program.ExactBytes(i.EagerSize), MaxPieces: i.MaxPieces,
		Classes: i.Classes, RegisteredMemory: i.RegisteredMemory, RemoteRead: i.RemoteRead, RemoteWrite: i.RemoteWrite,
		FileSends: i.FileSends,
	}}
	for _, d := range i.Details {
		if out.Details == nil {
			out.Details = make(map[string]string)
		}
		out.Details[d[0]] = d[1]
	}
	return out
}

func printInfo(w io.Writer, infos []methodInfo, inJSON bool) error {
	if len(infos) == 0 && !inJSON {
		_, err := fmt.Fprintln(w, "This binary was built without any method.")
		return err
	}
	table := program.NewTable[methodInfo](w, inJSON).Records()
	for _, i := range infos {
		if err := table.Add(i); err != nil {
			return err
		}
	}
	return table.Flush()
}
