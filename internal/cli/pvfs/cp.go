package pvfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

type cpOptions struct {
	recursive, verify, preserve, quiet bool
	jobs                               int
}

func (a *App) cpCommand() *cobra.Command {
	var opt cpOptions
	cmd := &cobra.Command{
		Use:     "cp SOURCE... TARGET",
		Short:   "Copy files in, out, and from one file system to another",
		Example: `  pvfs cp -r results :/archive`,
		Long: `Cp copies files, and with -r trees. A name with a colon in front is on the default file
system, a name with a source is on that file system, and all others are local:

    pvfs cp -r results :/archive                        in
    pvfs cp :/archive/results/1.dat .                   out
    pvfs cp -r :/a tcp://other:3334/pvfs2-fs/b          from one to another

Symbolic links are copied as links. SOURCE and TARGET may themselves be links to directories, and
SOURCE a link to a file. Below them cp follows no link, even if another user puts one there while it
runs. If the target has a link in the place of a file or a link to copy, the copy replaces it. If it
has one in the place of a directory, cp fails: remove the link, or use its target as TARGET. Cp
does not write to FIFOs, sockets and devices, nor through a TARGET that is a link to a file. It does
write to a device that is TARGET itself.

With --verify, cp reads each copied file and its copy again and compares their SHA-256.

` + exitHelp,
		Args: program.Between(2, -1, "one SOURCE or more, and a TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.cp(cmd.Context(), args[:len(args)-1], args[len(args)-1], opt)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&opt.recursive, "recursive", "r", false, "copy directories with their contents")
	f.BoolVarP(&opt.preserve, "preserve", "p", false, "keep modification times")
	f.BoolVar(&opt.verify, "verify", false, "read again and compare SHA-256")
	program.QuietFlag(f, &opt.quiet)
	f.IntVar(&opt.jobs, "jobs", 8, "number of files copied in parallel")
	return cmd
}

// A copier is one run of cp.
type copier struct {
	opt   cpOptions
	trees []tree
	dirs  []copyJob // to make, outer ones first
	links []copyJob
	jobs  []copyJob
	bytes int64
	bar   *program.Progress

	copied, files atomic.Int64
	sum           [32]byte // of the file, if there is only one
}

// A copyJob is one file to copy.
type copyJob struct {
	from, to tree
	src, dst place
	info     fs.FileInfo
	// outermost: a source from the command line, not an object below one.
	outermost bool
	// absent: there was nothing at dst at the last check.
	absent bool
	// there: dst existed before, so it keeps its mode.
	there bool
	// made is the directory at dst, if its attributes are set at the end.
	made fs.FileInfo
}

// source adds the name of the source to an error.
func (j *copyJob) source(err error) error {
	if errors.Is(err, errLink) {
		err = fmt.Errorf("%w; it was not one when cp checked it first, so copy again", err)
	}
	return j.from.about(j.src, err)
}

// target adds the name of the target to an error.
func (j *copyJob) target(err error) error {
	switch {
	case !errors.Is(err, errLink):
	case j.dst.rel == "":
		err = fmt.Errorf("%w to write to a file; use the name of its target", err)
	default:
		err = fmt.Errorf("%w; remove it and copy again, or use its target as TARGET", err)
	}
	return j.to.about(j.dst, err)
}

func (a *App) cp(ctx context.Context, sources []string, target string, opt cpOptions) error {
	c, err := a.prepare(ctx, sources, target, opt)
	defer c.close()
	if err != nil {
		return err
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

// prepare plans a copy. It examines all sources before anything is changed.
func (a *App) prepare(ctx context.Context, sources []string, target string, opt cpOptions) (c *copier, err error) {
	c = &copier{opt: opt}
	if opt.jobs < 1 {
		return c, program.Usagef("--jobs must be more than 0")
	}
	dst, err := either(target)
	if err != nil {
		return c, err
	}
	to, err := c.tree(ctx, a, dst)
	if err != nil {
		return c, err
	}
	there, err := to.stat(dst, true)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, to.about(dst, err)
	}
	into := err == nil && there.IsDir()
	if into {
		if err := to.enter(dst, true); err != nil {
			return c, to.about(dst, err)
		}
	}
	if len(sources) > 1 && !into {
		return c, program.Usagef("%s is not a directory, so only one file can go there", target)
	}
	for _, source := range sources {
		if err := a.plan(ctx, c, source, dst, to, into); err != nil {
			return c, err
		}
	}
	return c, nil
}

// tree returns the tree at a name of the command line. close closes it.
func (c *copier) tree(ctx context.Context, a *App, p place) (tree, error) {
	t, err := a.treeOf(ctx, p)
	if err == nil {
		c.trees = append(c.trees, t)
	}
	return t, err
}

func (c *copier) close() {
	for _, t := range c.trees {
		t.close()
	}
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

// plan plans the copy of one source.
func (a *App) plan(ctx context.Context, c *copier, source string, dst place, to tree, into bool) error {
	src, err := either(source)
	if err != nil {
		return err
	}
	if src.local && dst.local {
		return program.Usagef("%s and %s are both local; names on the file system begin with a colon, like :/%s", source, dst.given, filepath.Base(source))
	}
	from, err := c.tree(ctx, a, src)
	if err != nil {
		return err
	}
	info, err := from.stat(src, true)
	if err != nil {
		return from.about(src, err)
	}
	if into && src.base() != "" {
		dst = dst.below(src.base())
	}
	if info.IsDir() {
		if !c.opt.recursive {
			return program.Usagef("%s is a directory; cp -r copies it with its contents", source)
		}
		if err := from.enter(src, true); err != nil {
			return from.about(src, err)
		}
	}
	return c.walk(ctx, copyJob{from: from, to: to, src: src, dst: dst, info: info, outermost: true})
}

// walk records the contents of a tree.
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
	names, err := j.from.list(j.src)
	if err != nil {
		return j.source(err)
	}
	c.dirs = append(c.dirs, j)
	for _, name := range names {
		below := copyJob{from: j.from, to: j.to, src: j.src.below(name), dst: j.dst.below(name), absent: j.absent}
		if below.info, err = j.from.stat(below.src, false); err != nil {
			return j.source(err)
		}
		if err := c.walk(ctx, below); err != nil {
			return err
		}
	}
	return nil
}

// makeTree makes the recorded directories and symbolic links.
func (c *copier) makeTree(ctx context.Context) error {
	for i := range c.dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		j := &c.dirs[i]
		err := j.mkdir()
		if err == nil && c.settles(j) {
			j.made, err = j.to.stat(j.dst, false)
		}
		if err != nil {
			return j.target(err)
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

// mkdir makes a directory, or uses an existing one.
func (j *copyJob) mkdir() error {
	err := j.to.mkdir(j.dst, j.info.Mode().Perm()|0o700)
	if err != nil {
		there, e := j.to.stat(j.dst, false)
		switch {
		case e == nil && there.Mode()&fs.ModeSymlink != 0:
			return &fs.PathError{Op: "mkdir", Path: j.dst.given, Err: errLink}
		case e != nil || !there.IsDir():
			return err
		}
		j.there = true
	}
	if j.dst.rel == "" {
		return j.to.enter(j.dst, false)
	}
	return nil
}

// link copies a symbolic link.
func (j *copyJob) link() error {
	target, err := j.from.readlink(j.src)
	if err != nil {
		return j.source(err)
	}
	if there, err := j.to.stat(j.dst, false); err == nil && !there.IsDir() {
		if err := j.to.remove(j.dst); err != nil {
			return j.target(err)
		}
	}
	return j.target(j.to.symlink(target, j.dst))
}

// run copies the recorded files, several in parallel. It stops at the first error.
func (c *copier) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.opt.jobs)
	for _, j := range c.jobs {
		group.Go(func() error { return c.file(ctx, j) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, j := range slices.Backward(c.dirs) {
		if err := c.finishDir(&j); err != nil {
			return j.target(err)
		}
	}
	return nil
}

// file copies one file.
func (c *copier) file(ctx context.Context, j copyJob) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in, err := j.from.open(j.src)
	if err != nil {
		return j.source(err)
	}
	defer func() { _ = in.Close() }()
	out, err := j.create()
	if err != nil {
		return j.target(err)
	}
	n, err := copyBytes(ctx, out, in, j.info.Size(), c.bar.Add)
	if err == nil && c.opt.verify {
		var sum [32]byte
		if sum, err = verify(ctx, in, out); len(c.jobs) == 1 {
			c.sum = sum
		}
	}
	if err == nil {
		err = c.finish(&j, out)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s to %s: %w", j.src.given, j.dst.given, err)
	}
	c.copied.Add(n)
	c.files.Add(1)
	return nil
}

// createTries is how often create starts again because another process made or removed the file meanwhile.
const createTries = 10

// create opens the copy of a file. It replaces a symbolic link with that name, unless the link is on the command line.
func (j *copyJob) create() (f file, err error) {
	for range createTries {
		if j.absent {
			// Even the process that makes a file can write to it only if its mode allows that.
			f, err = j.to.create(j.dst, j.info.Mode().Perm()|0o600)
			if !errors.Is(err, fs.ErrExist) {
				return f, err
			}
			j.absent = false
		}
		f, err = j.to.overwrite(j.dst)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errLink) && j.dst.rel != "":
			if err := j.to.remove(j.dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		default:
			j.there = err == nil
			return f, err
		}
		j.absent = true
	}
	return nil, err
}

// writable reports whether a copy with the mode of the original can be written.
func (j *copyJob) writable() bool {
	needed := fs.FileMode(0o600)
	if j.info.IsDir() {
		needed = 0o700
	}
	return j.info.Mode().Perm()&needed == needed
}

// settles reports whether the attributes of a copy must be changed at the end.
func (c *copier) settles(j *copyJob) bool {
	return c.opt.preserve || !j.there && !j.writable()
}

// finish sets the final attributes of a copy.
func (c *copier) finish(j *copyJob, f file) error {
	if !j.there && !j.writable() {
		if err := f.Chmod(j.info.Mode().Perm()); err != nil {
			return err
		}
	}
	if c.opt.preserve {
		return f.Chtimes(j.info.ModTime())
	}
	return nil
}

// finishDir is finish for a directory. It fails if another directory has taken the place of the one that was there at the start.
func (c *copier) finishDir(j *copyJob) error {
	if !c.settles(j) {
		return nil
	}
	f, err := j.to.open(j.dst)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !sameObject(j.to, j.made, j.to, info) {
		err = fmt.Errorf("%s was replaced while cp copied to it", j.dst.given)
	}
	if err == nil {
		if err = c.finish(j, f); err != nil {
			err = fmt.Errorf("copy %s to %s: %w", j.src.given, j.dst.given, err)
		}
	}
	return errors.Join(err, f.Close())
}
