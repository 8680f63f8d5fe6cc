package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/cli/stream"
)

type recvOptions struct {
	file  string
	quiet bool
}

func (a *App) recvCommand() *cobra.Command {
	var opt recvOptions
	cmd := &cobra.Command{
		Use:   "recv ADDR",
		Short: "Receive data from a `bmi send`, to a file or standard output",
		Long: `Recv waits at an address for one 'bmi send ADDR' and writes the data to
standard output, or with -o to a file, which gets its name only when it is
complete. It fails if the data did not arrive unchanged and complete; any output
written before must then not be used.

` + exitHelp,
		Example: `  bmi recv via+shm://backup -o data.tar
  bmi recv tcp://:4000 | tar x`,
		Args: program.Exactly(1, "one ADDR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.recv(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&opt.file, "output", "o", "", "write to this file instead of standard output")
	program.QuietFlag(f, &opt.quiet)
	return cmd
}

func (a *App) recv(ctx context.Context, address string, opt recvOptions) (err error) {
	if err := checkAddress(address); err != nil {
		return err
	}
	// If the reader of our output has closed it, a write must fail. By default
	// SIGPIPE would end the process before the sender could be told.
	signal.Ignore(syscall.SIGPIPE)
	out, finish, err := a.openOutput(opt.file)
	if err != nil {
		return err
	}
	defer func() { err = finish(err) }()
	ep, err := bmi.Open(ctx, bmi.Config{Listen: []string{address}})
	if err != nil {
		return err
	}
	defer closeEndpoint(ep, &err)
	l, err := stream.Listen(ep)
	if err != nil {
		return err
	}
	if at := ep.Addresses(); !opt.quiet && len(at) > 0 && at[0] != address {
		fmt.Fprintf(a.Err, "receiving at %s\n", at[0]) // including a port that the kernel chose
	}
	bar := program.NewProgress(a.Err, "receiving", a.Terminal && !opt.quiet)
	start := time.Now()
	sum, err := l.Receive(ctx, stream.RecvOptions{
		Started:  func(_ string, total int64) { start = time.Now(); bar.Begin(total) },
		Progress: bar.Set,
	}, out)
	bar.End()
	if err != nil {
		return fmt.Errorf("recv: %w", err)
	}
	if !opt.quiet {
		fmt.Fprintln(a.Err, summary("received", sum.Bytes, sum.SHA256, time.Since(start)))
	}
	return nil
}

// openOutput opens the output. finish is called with the result of the transfer:
// a file gets its name only after a success.
func (a *App) openOutput(file string) (out io.Writer, finish func(error) error, err error) {
	if file == "" || file == "-" {
		if f, ok := a.Out.(*os.File); ok {
			widenPipe(f)
		}
		return a.Out, func(err error) error { return err }, nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		// A device or a named pipe is written directly.
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return nil, nil, err
		}
		return f, func(err error) error { return errors.Join(err, f.Close()) }, nil
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".part-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, program.Usagef("-o %s: there is no folder %s", file, filepath.Dir(file))
	}
	if err != nil {
		return nil, nil, err
	}
	return f, func(err error) error { return finishFile(f, file, err) }, nil
}

func finishFile(f *os.File, name string, err error) error {
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// summary is the line that ends a successful transfer.
func summary(verb string, bytes int64, sum [32]byte, took time.Duration) string {
	return fmt.Sprintf("%s %s, sha256 %x", verb, program.Rate(bytes, took), sum)
}
