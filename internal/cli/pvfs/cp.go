package pvfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

type cpOptions struct {
	recursive, verify, preserve, quiet bool
	jobs                               int
}

func (a *App) cpCommand() *cobra.Command {
	var opt cpOptions
	cmd := &cobra.Command{
		Use:   "cp SOURCE... TARGET",
		Short: "Copy files in, out, and from one file system to another",
		Long: `Cp copies files, and trees with -r. A name with a colon in front is on the file
system, one with a source is on that one, all others are local:

    pvfs cp -r results :/archive                        in
    pvfs cp :/archive/results/1.dat .                   out
    pvfs cp -r :/a tcp://other:3334/pvfs2-fs/b          from one to another

With -verify every file is read again on both sides when it is copied, and the SHA-256 of both
compared.

` + exitHelp,
		Args: program.Between(2, -1, "one SOURCE or more, and a TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.cp(cmd.Context(), args[:len(args)-1], args[len(args)-1], opt)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opt.recursive, "recursive", "r", false, "copy directories with all that is in them")
	f.BoolVarP(&opt.preserve, "preserve", "p", false, "keep times of modification")
	f.BoolVar(&opt.verify, "verify", false, "read again and compare SHA-256")
	f.BoolVar(&opt.quiet, "quiet", false, "print errors only")
	f.IntVar(&opt.jobs, "jobs", 8, "how many files are copied at once")
	return cmd
}

// A copier is one execution of cp.
type copier struct {
	opt   cpOptions
	dirs  []copyJob // to make, the outer ones first
	links []copyJob
	jobs  []copyJob
	bytes int64
	bar   *program.Progress

	copied, files atomic.Int64
	sum           [32]byte // of the file if it is only one
}

// A copyJob is one file to copy.
type copyJob struct {
	from, to tree
	src, dst place
	info     fs.FileInfo
	// outermost: a source as it was given, not what is below one.
	outermost bool
	// absent: nothing was at dst when the copy was planned.
	absent bool
	// there tells that dst was there before, and so keeps its mode.
	there bool
}

func (a *App) cp(ctx context.Context, sources []string, target string, opt cpOptions) error {
	if opt.jobs < 1 {
		return program.Usagef("-jobs must be more than 0")
	}
	dst, err := either(target)
	if err != nil {
		return err
	}
	to, err := a.treeOf(ctx, dst)
	if err != nil {
		return err
	}
	there, err := to.stat(dst.path, true)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return to.about(dst, err)
	}
	into := err == nil && there.IsDir()
	if len(sources) > 1 && !into {
		return program.Usagef("%s is not a directory, so only one file can go there", target)
	}
	c := &copier{opt: opt}
	for _, source := range sources {
		if err := a.plan(ctx, c, source, dst, to, into); err != nil {
			return err
		}
	}
	if err := c.makeTree(ctx); err != nil {
		return err
	}
	start := time.Now()
	c.bar = program.NewProgress(a.Err, "copying", a.Terminal && !opt.quiet).Begin(c.bytes)
	err = c.run(ctx)
	c.bar.End()
	if err != nil {
		return err
	}
	return a.copied(c, time.Since(start))
}

func (a *App) copied(c *copier, took time.Duration) error {
	if c.opt.quiet {
		return nil
	}
	text := fmt.Sprintf("copied %d files, %s", c.files.Load(), program.Rate(c.copied.Load(), took))
	switch {
	case c.opt.verify && len(c.jobs) == 1:
		text += fmt.Sprintf(", verified: sha256 %x", c.sum)
	case c.opt.verify:
		text += ", all verified by SHA-256"
	}
	_, err := fmt.Fprintln(a.Err, text)
	return err
}

// plan finds out what a source takes. Nothing is changed before that is known of all sources.
func (a *App) plan(ctx context.Context, c *copier, source string, dst place, to tree, into bool) error {
	src, err := either(source)
	if err != nil {
		return err
	}
	if src.local && dst.local {
		return program.Usagef("%s and %s are both local; what is on the file system has a colon in front, like :/%s", source, dst.given, filepath.Base(source))
	}
	from, err := a.treeOf(ctx, src)
	if err != nil {
		return err
	}
	info, err := from.stat(src.path, true)
	if err != nil {
		return from.about(src, err)
	}
	if into && src.base() != "" {
		dst = dst.below(src.base())
	}
	if info.IsDir() && !c.opt.recursive {
		return program.Usagef("%s is a directory; cp -r copies it with all that is in it", source)
	}
	return c.walk(ctx, copyJob{from: from, to: to, src: src, dst: dst, info: info, outermost: true})
}

// walk notes what there is in a tree.
func (c *copier) walk(ctx context.Context, j copyJob) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.apart(&j); err != nil {
		return err
	}
	switch mode := j.info.Mode(); {
	case mode.IsRegular():
		c.jobs = append(c.jobs, j)
		c.bytes += j.info.Size()
		return nil
	case mode&fs.ModeSymlink != 0:
		c.links = append(c.links, j)
		return nil
	case !mode.IsDir():
		return fmt.Errorf("%s: neither file, directory nor symbolic link", j.src.given)
	}
	entries, err := j.from.list(j.src.path)
	if err != nil {
		return j.from.about(j.src, err)
	}
	c.dirs = append(c.dirs, j)
	for _, entry := range entries {
		below := copyJob{from: j.from, to: j.to, src: j.src.below(entry.Name()), dst: j.dst.below(entry.Name()), absent: j.absent}
		if below.info, err = j.from.stat(below.src.path, false); err != nil {
			return j.from.about(below.src, err)
		}
		if err := c.walk(ctx, below); err != nil {
			return err
		}
	}
	return nil
}

// makeTree makes the directories and symbolic links that were noted.
func (c *copier) makeTree(ctx context.Context) error {
	for i := range c.dirs {
		j := &c.dirs[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.to.mkdir(j.dst.path, j.info.Mode().Perm()|0o700); err != nil {
			if there, e := j.to.stat(j.dst.path, true); e != nil || !there.IsDir() {
				return j.to.about(j.dst, err)
			}
			j.there = true
		}
	}
	for _, j := range c.links {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := j.link(); err != nil {
			return err
		}
	}
	return nil
}

// link copies a symbolic link.
func (j copyJob) link() error {
	target, err := j.from.readlink(j.src.path)
	if err != nil {
		return j.from.about(j.src, err)
	}
	if there, err := j.to.stat(j.dst.path, false); err == nil && !there.IsDir() {
		if err := j.to.remove(j.dst.path); err != nil {
			return j.to.about(j.dst, err)
		}
	}
	return j.to.about(j.dst, j.to.symlink(target, j.dst.path))
}

// run copies what was noted, some files at once. The first error ends it.
func (c *copier) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan copyJob)
	var all sync.WaitGroup
	for range min(c.opt.jobs, len(c.jobs)) {
		all.Go(func() {
			for j := range jobs {
				if err := c.file(ctx, j); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, j := range c.jobs {
		if ctx.Err() != nil {
			break
		}
		jobs <- j
	}
	close(jobs)
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, j := range slices.Backward(c.dirs) {
		if err := c.finish(j); err != nil {
			return err
		}
	}
	return nil
}

// file copies one.
func (c *copier) file(ctx context.Context, j copyJob) error {
	if ctx.Err() != nil {
		return nil
	}
	in, err := j.from.open(j.src.path)
	if err != nil {
		return j.from.about(j.src, err)
	}
	defer func() { _ = in.Close() }()
	if !j.writable() {
		_, err := j.to.stat(j.dst.path, true)
		j.there = err == nil
	}
	// It can be written only if its mode says so, also by who makes it.
	out, err := j.to.create(j.dst.path, j.info.Mode().Perm()|0o600)
	if err != nil {
		return j.to.about(j.dst, err)
	}
	n, err := copyBytes(ctx, out, in, j.info.Size(), c.bar.Add)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s to %s: %w", j.src.given, j.dst.given, err)
	}
	c.copied.Add(n)
	c.files.Add(1)
	if c.opt.verify {
		sum, err := verify(ctx, j.from, j.to, j.src.path, j.dst.path)
		if err != nil {
			return err
		}
		if len(c.jobs) == 1 {
			c.sum = sum
		}
	}
	return c.finish(j)
}

// writable tells whether a copy with the mode of the original can be written.
func (j copyJob) writable() bool {
	needed := fs.FileMode(0o600)
	if j.info.IsDir() {
		needed = 0o700
	}
	return j.info.Mode().Perm()&needed == needed
}

// finish gives a copy the attributes it is to have in the end.
func (c *copier) finish(j copyJob) error {
	if !j.there && !j.writable() {
		if err := j.to.chmod(j.dst.path, j.info.Mode().Perm()); err != nil {
			return j.to.about(j.dst, err)
		}
	}
	if c.opt.preserve {
		return j.to.about(j.dst, j.to.chtimes(j.dst.path, j.info.ModTime()))
	}
	return nil
}
