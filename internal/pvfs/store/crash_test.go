package store

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// childEnv makes the test binary the child of TestKill. It has the store's folder, and the number to continue from.
const childEnv = "VIADUCT_STORE_CHILD"

const (
	crashDir  = proto.Handle(100) // the dirdata object that the child uses
	crashers  = 4                 // goroutines of the child
	keepEvery = 3                 // files that are not removed again
)

func nameOf(kind string, i int) string { return kind + strconv.Itoa(i) }

// child creates files with entries and data, and removes some, until it is killed. It prints the acknowledged changes: "+worker
// number" and "-worker number".
func child() {
	dir, from, _ := strings.Cut(os.Getenv(childEnv), "|")
	first, err := strconv.Atoi(from)
	fatal(err)
	opts := ranges
	opts.NoSyncMeta = first%2 == 1 // a kill is not a power cut: both settings must hold
	s, err := Open(dir, opts)
	fatal(err)
	err = s.Update(func(tx *Tx) error {
		return tx.Insert(crashDir, Object{Attr: proto.Attr{Type: proto.TypeDirdata}})
	})
	if !errors.Is(err, fs.ErrExist) {
		fatal(err)
	}
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	var wg sync.WaitGroup
	for w := range crashers {
		wg.Go(func() {
			for i := first; ; i++ {
				name := fmt.Sprintf("w%d-%d", w, i)
				say("?%s", name)
				fatal(makeFile(s, name))
				say("+%s", name)
				if i%keepEvery == 0 {
					continue
				}
				say("!%s", name)
				fatal(dropFile(s, name))
				say("-%s", name)
			}
		})
	}
	wg.Wait()
}

// makeFile makes a metafile, a datafile with its name as data, and an extended attribute, in one update.
func makeFile(s *Store, name string) error {
	var data proto.Handle
	err := s.Update(func(tx *Tx) (err error) {
		data, err = tx.Create(DataSpace, Object{Attr: proto.Attr{Type: proto.TypeDatafile}})
		if err != nil {
			return err
		}
		h, err := tx.Create(MetaSpace, Object{Attr: proto.Attr{Type: proto.TypeMetafile, Datafiles: []proto.Handle{data}}})
		if err != nil {
			return err
		}
		return errors.Join(tx.SetXattr(h, "user.name", []byte(name), 0), tx.Link(crashDir, name, h))
	})
	if err != nil {
		return err
	}
	_, err = s.WriteAt(data, []byte(name), 0)
	return err
}

func dropFile(s *Store, name string) error {
	return s.Update(func(tx *Tx) error {
		h, err := tx.Unlink(crashDir, name)
		if err != nil {
			return err
		}
		o, err := tx.Get(h)
		if err != nil {
			return err
		}
		return errors.Join(tx.Delete(o.Datafiles[0]), tx.Delete(h))
	})
}

func fatal(err error) {
	if err != nil {
		fmt.Println("fatal:", err)
		os.Exit(3)
	}
}

// TestKill repeatedly kills a process that uses the store, at random moments, and then checks the store.
func TestKill(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	must := map[string]bool{} // true: must exist; false: must not; missing: unknown
	for round := range rounds {
		may := run(t, dir, round*100000+round%2, 1+rng.IntN(400), must)
		inspect(t, dir, must, may)
	}
	assert.NotEmpty(t, must)
}

// run lets a child work until it has printed a number of lines, and kills it. It records the acknowledged changes, and returns
// the names whose state is open.
func run(t *testing.T, dir string, first, lines int, must map[string]bool) (may map[string]bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", childEnv, dir, first))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	may = map[string]bool{}
	said := bufio.NewScanner(out)
	for n := 0; said.Scan(); n++ {
		line := said.Text()
		if n == lines {
			require.NoError(t, cmd.Process.Kill()) // and read its remaining output
		}
		name := line[1:]
		switch line[0] {
		case '?', '!':
			may[name] = true
			delete(must, name)
		case '+':
			delete(may, name)
			must[name] = true
		case '-':
			delete(may, name)
			must[name] = false
		default:
			t.Error(line)
		}
	}
	require.Error(t, cmd.Wait(), "killed")
	return may
}

func inspect(t *testing.T, dir string, must, may map[string]bool) {
	s, err := Open(dir, ranges)
	require.NoError(t, err)
	defer s.Close()
	requireClean(t, s)
	there := map[string]proto.Handle{}
	objects := map[proto.ObjType]int{}
	require.NoError(t, s.View(func(tx *Tx) error {
		for e, err := range tx.AllEntries(crashDir) {
			require.NoError(t, err)
			o, err := tx.Get(e.Handle)
			require.NoError(t, err)
			there[e.Name] = o.Datafiles[0]
			v, err := tx.Xattr(e.Handle, "user.name")
			require.NoError(t, err)
			require.Equal(t, e.Name, string(v))
		}
		for o, err := range tx.Objects() {
			require.NoError(t, err)
			objects[o.Type]++
		}
		return nil
	}))
	require.Equal(t, map[proto.ObjType]int{
		proto.TypeDirdata: 1, proto.TypeMetafile: len(there), proto.TypeDatafile: len(there),
	}, withoutZeros(objects), "nothing half done")
	for name, want := range must {
		data, ok := there[name]
		require.Equal(t, want, ok, name)
		if ok {
			buf := make([]byte, 100)
			n, err := s.ReadAt(data, buf, 0)
			require.NoError(t, err)
			require.Equal(t, name, string(buf[:n]))
		}
	}
	for name := range there {
		require.True(t, must[name] || may[name], name)
		must[name] = must[name] && !may[name]
		if may[name] {
			delete(must, name) // perhaps without data
			require.NoError(t, dropFile(s, name))
		}
	}
}

func withoutZeros(m map[proto.ObjType]int) map[proto.ObjType]int {
	if len(m) == 0 {
		return map[proto.ObjType]int{proto.TypeDirdata: 1, proto.TypeMetafile: 0, proto.TypeDatafile: 0}
	}
	for _, typ := range []proto.ObjType{proto.TypeMetafile, proto.TypeDatafile, proto.TypeDirdata} {
		m[typ] += 0
	}
	return m
}
