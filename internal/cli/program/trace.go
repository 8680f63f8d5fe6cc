package program

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// TraceOption is the name of the option that TraceFlag adds.
const TraceOption = "trace"

// TraceFlag adds the option --trace to a command. The endpoints that the command opens with its context write to the file. end,
// which may be nil, closes those that the command leaves open.
func TraceFlag(cmd *cobra.Command, end func() error) {
	var name string
	cmd.Flags().StringVar(&name, TraceOption, "", "write a trace of messages to this file, for Perfetto and bmi trace (docs/guides/tracing.md)")
	_ = cmd.MarkFlagFilename(TraceOption, "json")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if name == "" {
			return run(cmd, args)
		}
		t, err := trace.CreatePattern("--"+TraceOption, name)
		if err != nil {
			return Usage(err)
		}
		cmd.SetContext(trace.With(cmd.Context(), t))
		err = run(cmd, args)
		if end != nil {
			err = errors.Join(err, end())
		}
		if e := t.Close(); err == nil {
			err = e
		}
		return err
	}
}
