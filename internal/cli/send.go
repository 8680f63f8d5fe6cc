package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/stream"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

type sendOptions struct {
	wait  time.Duration
	block int
	quiet bool
}

func (a *App) sendCommand() *cobra.Command {
	var opt sendOptions
	cmd := &cobra.Command{
		Use:   "send ADDR [FILE]",
		Short: "Send a file, or standard input, to a `bmi recv`",
		Long: `Send moves a file, or its standard input, to the process that runs 'bmi recv ADDR':

    tar c DIR | bmi send via+shm://backup          bmi recv via+shm://backup | tar x

It does not matter which of the two starts first. Both succeed, or both fail: the
receiver compares a SHA-256 checksum of everything, and send waits for its verdict.

` + exitHelp,
		Example: `  bmi send via+shm://backup data.tar
  tar c DIR | bmi send tcp://server:4000 --timeout 1m`,
		Args: program.Between(1, 2, "an ADDR and perhaps a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := ""
			if len(args) == 2 {
				file = args[1]
			}
			return a.send(cmd.Context(), args[0], file, opt)
		},
	}
	f := cmd.Flags()
	program.DurationFlag(f, &opt.wait, "timeout", 10*time.Second, "how long to look for the receiver")
	program.SizeFlag(f, &opt.block, "block", 1<<20, "size of a message")
	program.QuietFlag(f, &opt.quiet)
	return cmd
}

func (a *App) send(ctx context.Context, address, file string, opt sendOptions) (err error) {
	if err := checkAddress(address); err != nil {
		return err
	}
	if opt.wait < 0 {
		return program.Usagef("--timeout %v: it cannot be negative", opt.wait)
	}
	if opt.block < 1 || opt.block > perf.SizeMax {
		return program.Usagef("--block %s: choose 1 B to %s", perf.FormatSize(opt.block), perf.FormatSize(perf.SizeMax))
	}
	in, total, err := a.openInput(file)
	if err != nil {
		return err
	}
	if in != a.In {
		defer func() { _ = in.Close() }()
	}
	ep, err := bmi.Open(ctx, bmi.Config{})
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	bar := program.NewProgress(a.Err, "sending", a.Terminal && !opt.quiet)
	start := time.Now()
	sum, err := stream.Send(ctx, ep, stream.SendOptions{
		Address: address, Wait: opt.wait, Total: total, Block: opt.block,
		Started:  func() { start = time.Now(); bar.Begin(total) },
		Progress: bar.Set,
	}, in)
	bar.End()
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if !opt.quiet {
		fmt.Fprintln(a.Err, summary("sent", sum.Bytes, sum.SHA256, time.Since(start)))
	}
	return nil
}

// openInput opens a file, or uses the standard input; total is -1 if its length
// is not known beforehand.
func (a *App) openInput(file string) (in *os.File, total int64, err error) {
	in = a.In
	if file != "" && file != "-" {
		if in, err = os.Open(file); err != nil {
			return nil, 0, err
		}
	}
	total = -1
	info, err := in.Stat()
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("look at the input: %w", err)
	case info.IsDir():
		return nil, 0, program.Usagef("%s is a directory; try: tar c %s | bmi send ADDR", file, file)
	case info.Mode().IsRegular() && file != "" && file != "-":
		total = info.Size()
	}
	widenPipe(in)
	return in, total, nil
}

// pipeBytes is the capacity set for pipes at the standard streams, in bytes: a
// block.
const pipeBytes = 1 << 20

// widenPipe makes a pipe hold a block, so that filling one needs fewer switches
// between processes. It has no effect on a file that is not a pipe.
func widenPipe(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, pipeBytes)
}
