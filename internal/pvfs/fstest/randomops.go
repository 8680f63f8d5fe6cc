package fstest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// An op is one operation of a random run. All parameters are drawn beforehand, so that a shortened sequence can still run.
type op struct {
	verb   string
	user   int    // index into randomUsers
	name   string // also the other name of a rename, or the target of a link
	other  string
	slot   int // of an open file
	off    int64
	size   int64
	number uint64 // mode, uid, or seed of the data
}

// randomUsers are the users of a random run.
var randomUsers = []User{Root, userA, userB, userC}

// slots is the largest number of open files.
const slots = 4

func (o op) String() string {
	text := fmt.Sprintf("uid %-4d %-8s %s", randomUsers[o.user].UID, o.verb, o.name)
	switch o.verb {
	case "rename", "symlink":
		text += " " + o.other
	case "open":
		text += fmt.Sprintf(" slot %d flags %#x", o.slot, o.openFlags())
	case "write", "read":
		text += fmt.Sprintf(" slot %d, %d bytes at %d", o.slot, o.size, o.off)
	case "cut":
		text += fmt.Sprintf(" slot %d to %d", o.slot, o.off)
	case "close":
		text += fmt.Sprintf(" slot %d", o.slot)
	case "truncate":
		text += fmt.Sprintf(" to %d", o.off)
	case "put":
		text += fmt.Sprintf(" %d bytes at %d", o.size, o.off)
	case "mkdir", "chmod":
		text += fmt.Sprintf(" %03o", o.mode())
	case "chown", "chtimes", "setx", "getx", "delx":
		text += fmt.Sprintf(" %d", o.number)
	}
	return text
}

// draw makes a random sequence.
func draw(rng *rand.Rand, steps int, lacks map[Ability]string) []op {
	verbs := verbsOf(lacks)
	ops := make([]op, 0, steps)
	for range steps {
		o := op{
			verb: verbs[rng.IntN(len(verbs))],
			name: drawName(rng), other: drawName(rng), slot: rng.IntN(slots),
			off: drawOffset(rng), size: drawSize(rng), number: rng.Uint64() % (1 << 20),
		}
		if _, no := lacks[Users]; !no && rng.IntN(4) == 0 {
			o.user = 1 + rng.IntN(len(randomUsers)-1)
		}
		// Users without the right to search the directory may or may not resolve dots, so only root uses them.
		if dots := rng.IntN(20); dots < 2 && o.user == 0 && slices.Contains(takeDots, o.verb) {
			o.name += []string{"/.", "/.."}[dots]
		}
		if _, no := lacks[LongTargets]; no && o.verb == "symlink" {
			o.other = o.other[:min(len(o.other), targetMax)]
		}
		ops = append(ops, o)
	}
	return ops
}

// takeDots are operations whose names may end with dots. Links never lead upwards, so everything stays inside the directory of
// the run.
var takeDots = []string{"get", "stat", "lstat", "readdir", "truncate", "chmod"}

// verbsOf lists each operation as often as its weight.
func verbsOf(lacks map[Ability]string) []string {
	var verbs []string
	for _, v := range []struct {
		verb   string
		weight int
		needs  []Ability
	}{
		{"put", 12, nil}, {"get", 8, nil}, {"mkdir", 8, nil}, {"remove", 8, nil}, {"rename", 8, nil},
		{"symlink", 4, []Ability{Symlinks}}, {"readlink", 2, []Ability{Symlinks}},
		{"stat", 4, nil}, {"lstat", 4, nil}, {"readdir", 5, nil}, {"truncate", 5, nil},
		{"chmod", 4, nil}, {"chown", 2, nil}, {"chtimes", 2, nil},
		{"setx", 3, []Ability{Xattrs}}, {"getx", 2, []Ability{Xattrs}}, {"listx", 2, []Ability{Xattrs}}, {"delx", 2, []Ability{Xattrs}},
		{"open", 6, nil}, {"write", 8, nil}, {"read", 6, nil}, {"cut", 2, nil}, {"close", 4, nil},
	} {
		if !slices.ContainsFunc(v.needs, func(a Ability) bool { _, no := lacks[a]; return no }) {
			for range v.weight {
				verbs = append(verbs, v.verb)
			}
		}
	}
	return verbs
}

// drawName uses few names, so that operations meet.
func drawName(rng *rand.Rand) string {
	parts := make([]string, 0, 4)
	for range 1 + rng.IntN(3) {
		parts = append(parts, string(rune('a'+rng.IntN(4))))
	}
	if rng.IntN(60) == 0 {
		parts = append(parts, strings.Repeat("n", 255))
	}
	return strings.Join(parts, "/")
}

func drawOffset(rng *rand.Rand) int64 {
	switch rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return rng.Int64N(20000)
	case 2:
		return max(0, int64(rng.IntN(5))*strip+rng.Int64N(5)-2)
	}
	return rng.Int64N(5 * strip)
}

func drawSize(rng *rand.Rand) int64 {
	switch rng.IntN(4) {
	case 0:
		return rng.Int64N(100)
	case 1:
		return rng.Int64N(20000)
	case 2:
		return strip + rng.Int64N(5) - 2
	}
	return rng.Int64N(3 * strip)
}

func (o op) mode() uint32 {
	return []uint32{0o777, 0o755, 0o700, 0o770, 0o711, 0o644, 0o666, 0o600, 0o444, 0}[o.number%10]
}

func (o op) openFlags() int {
	flags := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR}[o.number%3]
	if o.number&8 != 0 {
		flags |= os.O_CREATE
	}
	if o.number&(16|8) == 16|8 {
		flags |= os.O_EXCL
	}
	if o.number&(32|64) == 32|64 && flags&3 != os.O_RDONLY {
		flags |= os.O_TRUNC
	}
	return flags
}

// A player carries out operations in a directory of one file system.
type player struct {
	s    *Subject
	dir  string
	fs   []FS // by index in randomUsers
	open [slots]File
}

func newPlayer(s *Subject, dir string) (*player, error) {
	p := &player{s: s, dir: dir}
	for _, u := range randomUsers {
		p.fs = append(p.fs, s.As(u))
	}
	if err := p.fs[0].Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	return p, p.fs[0].Chmod(dir, 0o777)
}

// end closes all open files and removes everything.
func (p *player) end() error {
	for _, f := range p.open {
		if f != nil {
			_ = f.Close()
		}
	}
	return removeAll(p.fs[0], p.dir)
}

// do carries out one operation, and describes the result.
func (p *player) do(o op) string {
	f, name := p.fs[o.user], p.dir+"/"+o.name
	switch o.verb {
	case "put":
		return p.put(o)
	case "get":
		return p.get(f, name)
	case "mkdir":
		return outcome(f.Mkdir(name, o.mode()))
	case "remove":
		return outcome(f.Remove(name))
	case "rename":
		if err := f.Rename(name, p.dir+"/"+o.other); err != nil {
			return "fails" // the error may have several causes
		}
		return "ok"
	case "symlink":
		return outcome(f.Symlink(o.other, name))
	case "readlink":
		target, err := f.Readlink(name)
		return outcome(err) + " " + target
	case "stat":
		info, err := f.Stat(name)
		return describe(info, err)
	case "lstat":
		info, err := f.Lstat(name)
		return describe(info, err)
	case "readdir":
		return listed(f.ReadDir(name))
	case "truncate":
		return outcome(f.Truncate(name, o.off))
	case "chmod":
		return outcome(f.Chmod(name, o.mode()))
	case "chown":
		return outcome(f.Chown(name, int(randomUsers[o.number%4].UID), int(randomUsers[o.number/4%4].group())))
	case "chtimes":
		return outcome(f.Chtimes(name, time.Unix(int64(o.number), 0), time.Unix(int64(o.number)+1, 0)))
	case "open", "write", "read", "cut", "close":
		return p.handle(o)
	}
	return p.xattr(f, name, o)
}

func (p *player) xattr(f FS, name string, o op) string {
	key := "user." + string(rune('a'+o.number%3))
	switch o.verb {
	case "setx":
		return outcome(f.Setxattr(name, key, text(o.number, int(o.number%300)), int(o.number/3%3)))
	case "getx":
		value, err := f.Getxattr(name, key)
		return outcome(err) + digest(value)
	case "delx":
		return outcome(f.Removexattr(name, key))
	}
	keys, err := f.Listxattr(name)
	slices.Sort(keys)
	return outcome(err) + " " + strings.Join(keys, " ")
}

// put writes a part of a file, and may create it.
func (p *player) put(o op) string {
	f, err := p.fs[o.user].Open(p.dir+"/"+o.name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return outcome(err)
	}
	n, err := f.WriteAt(text(o.number, int(o.size)), o.off)
	return fmt.Sprint(outcome(errors.Join(err, f.Close())), " ", n)
}

// get reads a whole file.
func (p *player) get(fsys FS, name string) string {
	info, err := fsys.Stat(name)
	if err == nil && info.Kind == IsDir {
		return "directory"
	}
	f, err := fsys.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return outcome(err)
	}
	data, err := io.ReadAll(f)
	return outcome(errors.Join(err, f.Close())) + digest(data)
}

// handle carries out operations on open files. It ignores an empty slot, or for open a full one.
func (p *player) handle(o op) string {
	f := p.open[o.slot]
	if (f == nil) != (o.verb == "open") {
		return "nothing"
	}
	switch o.verb {
	case "open":
		return p.openSlot(o)
	case "write":
		n, err := f.WriteAt(text(o.number, int(o.size)), o.off)
		return fmt.Sprint(outcome(err), " ", n)
	case "read":
		data := make([]byte, o.size)
		n, err := f.ReadAt(data, o.off)
		if errors.Is(err, io.EOF) {
			err = nil // a full read up to the end may or may not return it
		}
		return outcome(err) + digest(data[:n])
	case "cut":
		err := f.Truncate(o.off)
		if errors.Is(err, syscall.EINVAL) {
			err = syscall.EBADF // POSIX allows either for a file that is not open for writing
		}
		return outcome(err)
	}
	p.open[o.slot] = nil
	return outcome(f.Close())
}

func (p *player) openSlot(o op) string {
	name := p.dir + "/" + o.name
	if info, err := p.fs[0].Stat(name); err == nil && info.Kind == IsDir {
		return "directory" // some file systems open directories and some do not
	}
	f, err := p.fs[o.user].Open(name, o.openFlags(), 0o666)
	if err == nil {
		p.open[o.slot] = f
	}
	return outcome(err)
}

// reasons are the errors that are distinguished.
var reasons = []struct {
	word  string
	errno []syscall.Errno
}{
	{"denied", []syscall.Errno{syscall.EACCES, syscall.EPERM}},
	{"no such name", []syscall.Errno{syscall.ENOENT}},
	{"exists or not empty", []syscall.Errno{syscall.EEXIST, syscall.ENOTEMPTY}},
	{"not a directory", []syscall.Errno{syscall.ENOTDIR}},
	{"a directory", []syscall.Errno{syscall.EISDIR}},
	{"loop", []syscall.Errno{syscall.ELOOP}},
	{"too long", []syscall.Errno{syscall.ENAMETOOLONG}},
	{"no attribute", []syscall.Errno{syscall.ENODATA}},
	{"invalid", []syscall.Errno{syscall.EINVAL, syscall.EBUSY}},
	{"not open for that", []syscall.Errno{syscall.EBADF}},
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	for _, r := range reasons {
		for _, no := range r.errno {
			if errors.Is(err, no) {
				return r.word
			}
		}
	}
	if errors.Is(err, fs.ErrClosed) {
		return "closed"
	}
	return "unexpected error: " + err.Error()
}

func describe(info Info, err error) string {
	if err != nil {
		return outcome(err)
	}
	text := fmt.Sprintf("%s %d:%d", info.Kind, info.UID, info.GID)
	if info.Kind != IsSymlink {
		text += fmt.Sprintf(" %04o", info.Mode)
	}
	if info.Kind != IsDir {
		text += fmt.Sprintf(" size %d", info.Size)
	}
	return text
}

func listed(entries []Entry, err error) string {
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	return outcome(err) + " " + strings.Join(names, " ")
}

func digest(data []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(data)
	return fmt.Sprintf(" %d bytes %016x", len(data), h.Sum64())
}
