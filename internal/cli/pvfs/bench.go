package pvfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/units"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

type benchOptions struct {
	size   int64
	files  int
	jobs   int
	verify bool
	asJSON bool
}

func (a *App) benchCommand() *cobra.Command {
	var opt benchOptions
	cmd := &cobra.Command{
		Use:     "bench [DIRECTORY]",
		Short:   "Measure throughput, and creates, stats and removes per second",
		Example: `  pvfs bench --size 4GiB --jobs 32 /scratch`,
		Long: `Bench makes a directory of its own in DIRECTORY (default: the root directory), and removes it at the
end. It writes --size bytes from memory to one file and reads them back. Then it creates, stats and
removes --files empty files, --jobs in parallel.

The data is random, different in each run, and every 4 KiB of a file differ from all others, so
compression and deduplication gain nothing. With --verify the data read back is compared with the
written data; the time of "out" includes that.

` + exitHelp,
		Args: program.Between(0, 1, "one DIRECTORY at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.bench(cmd.Context(), append(args, "/")[0], opt)
		},
	}
	f := cmd.Flags()
	program.SizeFlag(f, &opt.size, "size", 1<<30, "bytes to write and read; 0 skips that")
	f.IntVar(&opt.files, "files", 2000, "number of empty files; 0 skips that")
	f.IntVar(&opt.jobs, "jobs", 16, "number of files in parallel")
	f.BoolVar(&opt.verify, "verify", false, "compare the data read with the data written")
	program.JSONFlag(cmd, &opt.asJSON, result{})
	return cmd
}

// result is one line of output.
type result struct {
	Test    string  `json:"test"`
	Count   int64   `json:"count"` // bytes, or operations
	Jobs    int     `json:"jobs"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"` // per second
	Unit    string  `json:"unit"`
}

func (a *App) bench(ctx context.Context, name string, opt benchOptions) (err error) {
	size := opt.size
	if opt.files < 0 || opt.jobs < 1 {
		return program.Usagef("--files cannot be negative, --jobs must be more than 0")
	}
	fsys, p, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	now := time.Now().UnixNano()
	b := &bench{ctx: ctx, fs: fsys, dir: path.Join(p.path, fmt.Sprintf("pvfs-bench-%d-%d", os.Getpid(), now)), opt: opt}
	if size > 0 {
		b.data = newBenchData(uint64(now)^uint64(os.Getpid())<<32, blockBytes)
	}
	if err := fsys.Mkdir(ctx, b.dir, 0o755); err != nil {
		return about(fsys, p, err)
	}
	defer func() {
		// ctx has ended if bench was interrupted; remove the files in that case too.
		err = errors.Join(err, fsys.RemoveAll(context.WithoutCancel(ctx), b.dir))
	}()
	table := program.NewTable[benchRow](a.Out, opt.asJSON).Live()
	for _, test := range b.tests(size) {
		r, err := test()
		if err != nil {
			return fmt.Errorf("bench: %s: %w", r.Test, err)
		}
		if err := table.Add(rowOf(r)); err != nil {
			return err
		}
	}
	return nil
}

// tests are the measurements, in order.
func (b *bench) tests(size int64) []func() (result, error) {
	var tests []func() (result, error)
	if size > 0 {
		tests = append(tests, func() (result, error) { return b.in(size) }, func() (result, error) { return b.out(size) })
	}
	for _, jobs := range []int{1, b.opt.jobs} {
		if b.opt.files > 0 {
			tests = append(tests,
				func() (result, error) { return b.each("create", jobs, b.create) },
				func() (result, error) { return b.each("stat", jobs, b.stat) },
				func() (result, error) { return b.each("remove", jobs, b.remove) })
		}
		if b.opt.jobs == 1 {
			break
		}
	}
	return tests
}

// benchRow is a result, and what people see of it.
type benchRow struct {
	result
	ShownTest  string          `json:"-" table:"TEST,7"`
	ShownCount string          `json:"-" table:"COUNT,10,right"`
	ShownJobs  int             `json:"-" table:"AT ONCE,7"`
	ShownTime  program.Seconds `json:"-" table:"TIME,9"`
	ShownRate  string          `json:"-" table:"RATE,14,right"`
}

func rowOf(r result) benchRow {
	count, rate := strconv.FormatInt(r.Count, 10), fmt.Sprintf("%.0f /s", r.Rate)
	if r.Unit == "bytes/s" {
		count, rate = units.FormatBytes(r.Count), fmt.Sprintf("%.0f MB/s", r.Rate/1e6)
	}
	return benchRow{r, r.Test, count, r.Jobs, program.Seconds(r.Seconds), rate}
}

// bench is one run.
type bench struct {
	ctx context.Context
	fs  *client.FS
	dir string
	opt benchOptions
	// data is written; nil if nothing is written.
	data *benchData
}

func measured(test string, count int64, jobs int, unit string, fn func() error) (result, error) {
	start := time.Now()
	err := fn()
	took := max(time.Since(start).Seconds(), 1e-9)
	return result{test, count, jobs, took, float64(count) / took, unit}, err
}

func (b *bench) bytes() string { return b.dir + "/bytes" }

func (b *bench) in(size int64) (result, error) {
	return measured("in", size, blocksAtOnce, "bytes/s", func() error {
		f, err := openFile(b.ctx, b.fs, b.bytes(), os.O_RDWR|os.O_CREATE, 0o644, client.Striping{})
		if err != nil {
			return err
		}
		_, err = copyBytes(b.ctx, f, b.data, size, func(int) {})
		return errors.Join(err, f.Close())
	})
}

func (b *bench) out(size int64) (result, error) {
	return measured("out", size, blocksAtOnce, "bytes/s", func() error {
		f, err := openFile(b.ctx, b.fs, b.bytes(), os.O_RDONLY, 0, client.Striping{})
		if err != nil {
			return err
		}
		to := sink{}
		if b.opt.verify {
			to.want = b.data
		}
		n, err := copyBytes(b.ctx, to, f, size, func(int) {})
		if err == nil && n != size {
			err = fmt.Errorf("%d of %d bytes came back", n, size)
		}
		return errors.Join(err, f.Close())
	})
}

func (b *bench) create(name string) error {
	f, err := b.fs.OpenFile(b.ctx, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func (b *bench) stat(name string) error {
	_, err := b.fs.StatCtx(b.ctx, name)
	return err
}

func (b *bench) remove(name string) error { return b.fs.Remove(b.ctx, name) }

// each calls fn for all files, several in parallel.
func (b *bench) each(test string, jobs int, fn func(name string) error) (result, error) {
	return measured(test, int64(b.opt.files), jobs, "operations/s", func() error {
		var next atomic.Int64
		var all sync.WaitGroup
		errs := make([]error, jobs)
		for i := range errs {
			all.Go(func() {
				for n := next.Add(1); n <= int64(b.opt.files) && errs[i] == nil; n = next.Add(1) {
					errs[i] = fn(b.dir + "/file" + strconv.FormatInt(n, 10))
				}
			})
		}
		all.Wait()
		return errors.Join(errs...)
	})
}
