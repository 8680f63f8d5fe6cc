package badday_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// An entry is the object of a name. The zero value is no object.
type entry struct {
	kind   string // "", "file", "dir" or "link"
	number uint64 // seed of the data; the target of a link
	data   int64  // bytes written
	size   int64  // of the file: zeros follow data
	xattr  string // value of user.k
}

// bytes are the contents of a file.
func (e entry) bytes() []byte {
	b := make([]byte, e.size)
	fill(b[:e.data], e.number)
	return b
}

// fill makes bytes that encode their offset, and are never zero.
func fill(b []byte, number uint64) {
	for i := range b {
		v := (uint64(i)/8 + number*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
		b[i] = byte(v>>(uint(i%8)*7)) | 1
	}
}

// A worker works in a directory of its own, and checks that everything is as expected. After a failed operation it finds out
// which of the allowed outcomes it had.
type worker struct {
	dir     string
	fs      *client.FS // for the work
	look    *client.FS // for checks and repairs: with retries, and without caches
	patient bool       // no operation may fail
	rng     *rand.Rand
	model   map[string]entry
	done    int // operations
	unsure  int // how many of them failed
	big     int // directories that were filled and removed
}

var background = context.Background()

const (
	namesOfWorker = 10
	bytesMax      = 300_000
	bigNames      = 24
)

// begin makes the directory.
func (w *worker) begin() error {
	w.model = map[string]entry{}
	return w.look.Mkdir(background, w.dir, 0o755)
}

// step carries out one operation. An error means that the file system is wrong.
func (w *worker) step() error {
	w.done++
	a, b := w.name(), w.name()
	var err error
	switch n := w.rng.IntN(40); {
	case n < 10:
		err = w.put(a, entry{kind: "file", number: w.rng.Uint64(), data: w.size()})
	case n < 15:
		err = w.remove(a)
	case n < 22:
		err = w.rename(a, b)
	case n < 25:
		err = w.simple(a, entry{}, entry{kind: "dir"}, func(path string) error { return w.fs.Mkdir(background, path, 0o755) })
	case n < 28:
		e := entry{kind: "link", number: w.rng.Uint64()}
		err = w.simple(a, entry{}, e, func(path string) error { return w.fs.Symlink(background, target(e), path) })
	case n < 31:
		err = w.truncate(a)
	case n < 34:
		err = w.setXattr(a)
	case n < 35:
		err = w.divide()
	case n < 36:
		err = w.list()
	default:
		err = w.holds(a, w.model[a])
	}
	if err != nil {
		return fmt.Errorf("operation %d in %s: %w", w.done, w.dir, err)
	}
	return nil
}

func (w *worker) name() string            { return fmt.Sprintf("n%d", w.rng.IntN(namesOfWorker)) }
func (w *worker) path(name string) string { return w.dir + "/" + name }
func target(e entry) string               { return fmt.Sprintf("to/%d", e.number) }

func (w *worker) size() int64 {
	if w.rng.IntN(2) == 0 {
		return w.rng.Int64N(5000)
	}
	return w.rng.Int64N(bytesMax)
}

// failed reports whether an operation failed because a server was down. Any other reason is an error.
func (w *worker) failed(what, name string, err error) (bool, error) {
	if err == nil {
		return false, nil
	}
	var errno syscall.Errno
	if w.patient || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrPermission) ||
		errors.As(err, &errno) && slices.Contains([]syscall.Errno{syscall.ENOTEMPTY, syscall.ENOTDIR, syscall.EISDIR, syscall.EINVAL, syscall.ESTALE}, errno) {
		return true, fmt.Errorf("%s %s: %w", what, name, err)
	}
	w.unsure++
	return true, nil
}

// put writes a whole file. After a failure, each byte may be the old one, the new one or zero.
func (w *worker) put(name string, e entry) error {
	before := w.model[name]
	if before.kind == "dir" || before.kind == "link" {
		return nil
	}
	e.size, e.xattr = e.data, before.xattr
	failed, err := w.failed("put", name, write(w.fs, w.path(name), e))
	if err != nil {
		return err
	}
	if failed {
		return w.torn(name, before, e)
	}
	w.model[name] = e
	return nil
}

func write(f *client.FS, path string, e entry) error {
	file, err := f.OpenFile(background, path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(e.bytes(), 0)
	return errors.Join(err, file.Close())
}

// torn checks a partly written file, and removes it.
func (w *worker) torn(name string, before, after entry) error {
	now, data, err := w.observe(name)
	if err != nil {
		return err
	}
	switch {
	case now.kind == "" && before.kind == "":
		return nil
	case now.kind != "file" || now.size > max(before.size, after.size):
		return fmt.Errorf("%s: %+v after a failed write of %+v over %+v", name, now, after, before)
	}
	old, fresh := make([]byte, len(data)), make([]byte, len(data))
	copy(old, before.bytes())
	copy(fresh, after.bytes())
	for i, c := range data {
		if c != 0 && c != old[i] && c != fresh[i] {
			return fmt.Errorf("%s: byte %d is %#x after a failed write of %+v over %+v", name, i, c, after, before)
		}
	}
	delete(w.model, name)
	return w.look.Remove(background, w.path(name))
}

// simple carries out an operation on a name with object before. Afterwards the name has object after, or if it failed either.
func (w *worker) simple(name string, before, after entry, do func(path string) error) error {
	if w.model[name] != before {
		return nil
	}
	failed, err := w.failed("operation on", name, do(w.path(name)))
	if err != nil {
		return err
	}
	if failed {
		return w.settle(map[string][]entry{name: {before, after}}, 2)
	}
	w.become(name, after)
	return nil
}

func (w *worker) become(name string, e entry) {
	if e.kind == "" {
		delete(w.model, name)
		return
	}
	w.model[name] = e
}

func (w *worker) remove(name string) error {
	return w.simple(name, w.model[name], entry{}, func(path string) error {
		err := w.fs.Remove(background, path)
		if w.model[name].kind == "" && errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
}

// rename never loses both names. Either the new name has the object, or all is as before, or both names exist. In the last case a
// second rename removes the old one.
func (w *worker) rename(a, b string) error {
	from, to := w.model[a], w.model[b]
	if from.kind == "" || a == b || to.kind != "" && (from.kind == "dir") != (to.kind == "dir") {
		return nil
	}
	failed, err := w.failed("rename", a+" "+b, w.fs.Rename(background, w.path(a), w.path(b)))
	if err != nil {
		return err
	}
	if failed {
		if err := w.settle(map[string][]entry{a: {from, from, {}}, b: {to, from, from}}, 3); err != nil {
			return fmt.Errorf("after a failed rename of %s to %s: %w", a, b, err)
		}
		if w.model[a] != from || w.model[b] != from {
			return nil
		}
		if err := w.look.Rename(background, w.path(a), w.path(b)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rename again: %w", err)
		}
	}
	delete(w.model, a)
	w.model[b] = from
	return nil
}

// truncate shortens or extends a file.
func (w *worker) truncate(name string) error {
	e := w.model[name]
	if e.kind != "file" {
		return nil
	}
	after := e
	after.size = w.size()
	after.data = min(after.data, after.size)
	failed, err := w.failed("truncate", name, w.fs.Truncate(background, w.path(name), after.size))
	if err != nil {
		return err
	}
	if failed {
		return w.torn(name, e, after)
	}
	w.model[name] = after
	return nil
}

func (w *worker) setXattr(name string) error {
	before := w.model[name]
	if before.kind != "file" {
		return nil
	}
	after := before
	after.xattr = fmt.Sprint(w.rng.Uint32())
	return w.simple(name, before, after, func(path string) error {
		return w.fs.SetXattr(background, path, "user.k", []byte(after.xattr), 0)
	})
}

// divide fills a directory with so many names that it is divided over the servers, and checks that each of them is listed once.
func (w *worker) divide() error {
	w.big++
	dir := fmt.Sprintf("%s/big%d", w.dir, w.big)
	if err := w.look.Mkdir(background, dir, 0o755); err != nil {
		return err
	}
	var names []string
	for i := range bigNames {
		name := fmt.Sprintf("name-%d", i)
		err := write(w.fs, dir+"/"+name, entry{kind: "file", number: uint64(i), size: 100, data: 100})
		failed, err := w.failed("create", name, err)
		if err != nil {
			return err
		}
		if failed {
			err := w.look.Remove(background, dir+"/"+name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		names = append(names, name)
	}
	if err := sameNames(w.look, dir, names); err != nil {
		return err
	}
	for _, name := range names {
		failed, err := w.failed("remove", name, w.fs.Remove(background, dir+"/"+name))
		if err != nil {
			return err
		}
		if failed {
			if err := w.look.Remove(background, dir+"/"+name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if err := sameNames(w.look, dir, nil); err != nil {
		return err
	}
	return w.look.Remove(background, dir)
}

// sameNames checks that a directory has these names and no others.
func sameNames(f *client.FS, dir string, want []string) error {
	entries, err := f.ReadDirCtx(background, dir)
	if err != nil {
		return err
	}
	got := make([]string, 0, len(entries))
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		return fmt.Errorf("%s has the names %q, want %q", dir, got, want)
	}
	return nil
}

// list checks the names in the worker's directory.
func (w *worker) list() error {
	return sameNames(w.look, w.dir, slices.Collect(maps.Keys(w.model)))
}

// settle finds out which of n outcomes happened. outcomes has one entry for each of them per name.
func (w *worker) settle(outcomes map[string][]entry, n int) error {
	seen := map[string]entry{}
	var text strings.Builder
	for name, wants := range outcomes {
		now, data, err := w.observe(name)
		if err != nil {
			return err
		}
		for _, want := range wants {
			if equal(now, data, want) {
				now = want
			}
		}
		seen[name] = now
		fmt.Fprintf(&text, " %s is %+v, may be %+v;", name, now, wants)
	}
	for i := range n {
		fits := true
		for name, wants := range outcomes {
			fits = fits && seen[name] == wants[i]
		}
		if fits {
			for name, e := range seen {
				w.become(name, e)
			}
			return nil
		}
	}
	return fmt.Errorf("none of the outcomes:%s", text.String())
}

// holds checks the object of a name.
func (w *worker) holds(name string, want entry) error {
	now, data, err := w.observe(name)
	if err == nil && !equal(now, data, want) {
		err = fmt.Errorf("%s is %+v, want %+v; first different byte %d", name, now, want, differs(data, want.bytes()))
	}
	return err
}

func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func equal(now entry, data []byte, want entry) bool {
	if now.kind != want.kind {
		return false
	}
	switch now.kind {
	case "file":
		return now.xattr == want.xattr && bytes.Equal(data, want.bytes())
	case "link":
		return now.number == want.number
	}
	return true
}

// observe returns the present object of a name.
func (w *worker) observe(name string) (e entry, data []byte, err error) {
	path := w.path(name)
	info, err := w.look.LstatCtx(background, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return entry{}, nil, nil
	case err != nil:
		return entry{}, nil, err
	case info.IsDir():
		return entry{kind: "dir"}, nil, nil
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := w.look.ReadLinkCtx(background, path)
		if err != nil {
			return entry{}, nil, err
		}
		e = entry{kind: "link"}
		_, err = fmt.Sscanf(to, "to/%d", &e.number)
		return e, nil, err
	}
	value, err := w.look.GetXattr(background, path, "user.k")
	if err != nil && !errors.Is(err, syscall.ENODATA) {
		return entry{}, nil, err
	}
	data = make([]byte, info.Size())
	file, err := w.look.OpenFile(background, path, os.O_RDONLY, 0)
	if err != nil {
		return entry{}, nil, err
	}
	n, err := file.ReadAt(data, 0)
	if err = errors.Join(err, file.Close()); err != nil || n != len(data) {
		return entry{}, nil, fmt.Errorf("%s: %d of %d bytes: %w", name, n, len(data), err)
	}
	return entry{kind: "file", size: info.Size(), xattr: string(value)}, data, nil
}

// verify checks everything.
func (w *worker) verify() error {
	if err := w.list(); err != nil {
		return err
	}
	for name, e := range w.model {
		if err := w.holds(name, e); err != nil {
			return fmt.Errorf("%s: %w", w.dir, err)
		}
	}
	return nil
}
