package pvfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func (a *App) catCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cat NAME...",
		Short:   "Write files to standard output",
		Example: `  pvfs cat /log | tail`,
		Args:    program.Between(1, -1, "one NAME or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd.Context(), args, func(ctx context.Context, t remoteTree, p place) error {
				info, err := t.fs.StatCtx(ctx, p.path)
				if err != nil {
					return err
				}
				if info.IsDir() {
					return program.Usagef("%s is a directory; ls lists it", p.given)
				}
				f, err := t.open(p)
				if err != nil {
					return err
				}
				_, err = stream(ctx, a.Out, f, func(int) {})
				return errors.Join(err, f.Close())
			})
		},
	}
}

type putOptions struct {
	append, sync, quiet bool
	strip               int64
	parts               int
}

func (a *App) putCommand() *cobra.Command {
	var opt putOptions
	cmd := &cobra.Command{
		Use:     "put NAME",
		Short:   "Write standard input to a file",
		Example: `  tar c DIR | pvfs put --strip 1MiB --parts 4 /backup.tar`,
		Long: `Put replaces the contents of a file by its standard input:

    tar c DIR | pvfs put /backup/dir.tar

--strip and --parts set how the data of a new file is spread over the servers.

` + exitHelp,
		Args: program.Between(1, 1, "one NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.put(cmd.Context(), args[0], opt)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.append, "append", false, "append to the file")
	f.BoolVar(&opt.sync, "sync", false, "return after the data is on the servers' disks")
	program.SizeFlag(f, &opt.strip, "strip", 0, "contiguous bytes on one server, for example 1MiB (0: the setting of the directory or the file system)")
	f.IntVar(&opt.parts, "parts", 0, "number of servers (0: the setting of the directory or the file system)")
	program.QuietFlag(f, &opt.quiet)
	return cmd
}

func (a *App) put(ctx context.Context, name string, opt putOptions) error {
	how := client.Striping{Datafiles: opt.parts}
	if opt.strip > 0 {
		how.Dist = proto.Dist{Name: proto.DistStripe, StripSize: opt.strip}
	}
	if opt.parts < 0 {
		return program.Usagef("--parts cannot be negative")
	}
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	flag := os.O_RDWR | os.O_CREATE
	if !opt.append {
		flag |= os.O_TRUNC
	}
	f, err := openFile(ctx, fsys, p.path, flag, 0o644, how)
	if err != nil {
		return about(fsys, p, err)
	}
	start := time.Now()
	bar := program.NewProgress(a.Err, "writing", a.Terminal && !opt.quiet).Begin(-1)
	n, err := fill(ctx, f, a.In, opt.append, bar)
	bar.End()
	if err == nil && opt.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return about(fsys, p, err)
	}
	if !opt.quiet && a.Terminal {
		fmt.Fprintln(a.Err, "wrote "+program.Rate(n, time.Since(start)))
	}
	return nil
}

// fill writes all of in to a file. One block is written while the next is read.
func fill(ctx context.Context, f file, in io.Reader, behind bool, bar *program.Progress) (total int64, err error) {
	var off int64
	if behind {
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		off = info.Size()
	}
	written := make(chan error, 1)
	written <- nil
	for {
		block := blocks.Get().(*[]byte)
		n, readErr := io.ReadFull(in, *block)
		if err = <-written; err == nil {
			err = ctx.Err()
		}
		if err != nil || n == 0 {
			blocks.Put(block)
			if err == nil && !errors.Is(readErr, io.EOF) {
				err = readErr
			}
			return total, err
		}
		at := off
		go func() {
			_, err := f.WriteAt((*block)[:n], at)
			blocks.Put(block)
			written <- err
		}()
		off += int64(n)
		total += int64(n)
		bar.Add(n)
		if readErr != nil {
			if err = <-written; err == nil && !errors.Is(readErr, io.ErrUnexpectedEOF) {
				err = readErr
			}
			return total, err
		}
	}
}
