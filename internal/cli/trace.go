package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/trace"
	"github.com/viaduct-hpc/viaduct/internal/trace/tracefile"
)

func (a *App) traceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Join traces of several processes, and say what took the time",
		Long: `Trace works with the files that --trace of bmi, pvfs, pvfsd and mpiexec, and VIADUCT_TRACE of any program,
have written. Each can be opened in Perfetto (https://ui.perfetto.dev), too. docs/guides/tracing.md is the guide.

` + exitHelp,
		Example: `  mpiexec -n 4 --trace traces heat; bmi trace summary traces`,
		Args:    cobra.ArbitraryArgs,
		RunE:    program.Unknown,
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.traceJoinCommand(), a.traceSummaryCommand())
	return cmd
}

func (a *App) traceJoinCommand() *cobra.Command {
	var out string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "join FILE... -o OUT",
		Short: "Make one trace of those of a job, with one clock and with arrows from sends to receives",
		Long: `Join writes the events of several processes to one file. A folder stands for the traces in it. Files of one
machine have one clock. The clocks of other machines are compared by the fastest messages each way, or, without
messages both ways, by the time of day. A message gets an arrow if both ends of it are in the files.

` + exitHelp,
		Example: `  bmi trace join traces -o job.json`,
		Args:    program.Between(1, -1, "one FILE or folder, or more"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.traceJoin(args, out, asJSON) },
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write; one that exists is overwritten only if it is a trace")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as one JSON object")
	_ = cmd.MarkFlagFilename("output", "json")
	return cmd
}

func (a *App) traceJoin(args []string, out string, asJSON bool) error {
	if out == "" {
		return program.Usagef("where to? Give -o OUT")
	}
	names, err := traceFiles(args, out)
	if err != nil {
		return err
	}
	f, err := trace.CreateFile(out)
	if err != nil {
		return program.Usage(fmt.Errorf("-o: %w", err))
	}
	did, err := tracefile.Join(f, names)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(out)
		return usageIfFormat(err)
	}
	if asJSON {
		return json.NewEncoder(a.Out).Encode(did)
	}
	w := bufio.NewWriter(a.Out)
	fmt.Fprintf(w, "%s: %d files, %d events, %d messages with both ends\n", out, did.Files, did.Events, did.Messages)
	writeClocks(w, did)
	return w.Flush()
}

// writeClocks prints the clock offsets and other notes about a joined file.
func writeClocks(w io.Writer, did *tracefile.Joined) {
	for i, h := range did.Hosts {
		switch {
		case i == 0:
		case h.Error < 0:
			fmt.Fprintf(w, "clock of %s: by its time of day, because no messages went both ways\n", h.Host)
		default:
			fmt.Fprintf(w, "clock of %s: right to %v\n", h.Host, h.Error)
		}
	}
	if did.Lossy > 0 {
		fmt.Fprintf(w, "%d files have lost events: some arrows are missing\n", did.Lossy)
	}
	if did.Cut > 0 {
		fmt.Fprintf(w, "%d files are of processes that were killed while they wrote\n", did.Cut)
	}
	if did.Ignored > 0 {
		fmt.Fprintf(w, "%d ends of messages have no arrow, because there are too many\n", did.Ignored)
	}
}

// usageIfFormat marks an error in a file from the command line.
func usageIfFormat(err error) error {
	if errors.Is(err, tracefile.ErrFormat) {
		return program.Usage(err)
	}
	return err
}

// traceFiles replaces folders by the traces in them, but for out.
func traceFiles(args []string, out string) (names []string, err error) {
	own, _ := os.Stat(out) // nil: there is none yet
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, program.Usage(err)
		}
		found := []string{arg}
		if info.IsDir() {
			if found, err = filepath.Glob(filepath.Join(escapeGlob(arg), "*.json")); err != nil {
				return nil, err
			}
			if len(found) == 0 {
				return nil, program.Usagef("%s: no traces (*.json) are in it", arg)
			}
		}
		for _, name := range found {
			if other, err := os.Stat(name); err == nil && own != nil && os.SameFile(own, other) {
				if !info.IsDir() {
					return nil, program.Usagef("%s would be both read and written: choose another name for -o", name)
				}
				continue
			}
			names = append(names, name)
		}
	}
	if len(names) > tracefile.FilesMax {
		return nil, program.Usagef("%d files: at most %d can be read", len(names), tracefile.FilesMax)
	}
	return names, nil
}

// escapeGlob makes a name stand for itself in a pattern.
func escapeGlob(name string) string {
	var b []byte
	for i := range len(name) {
		switch name[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, name[i])
	}
	return string(b)
}
