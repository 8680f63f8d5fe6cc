package interop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// A model is the expected contents of a file, and the script that writes them.
type model struct {
	w     *world
	t     testing.TB
	rng   *rand.Rand
	path  string
	data  []byte
	lines []string
	gaps  bool              // also memory with gaps
	want  map[string][]byte // local files of the reads, after the script has run
}

const modelBytesMax = 1 << 20

// put sets bytes of the file.
func (m *model) put(at int, b []byte) {
	if end := at + len(b); len(b) > 0 && end > len(m.data) {
		m.data = append(m.data, make([]byte, end-len(m.data))...)
	}
	copy(m.data[min(at, len(m.data)):], b)
}

// get returns bytes of the file; bytes beyond its end are zero.
func (m *model) get(at, n int) []byte {
	b := make([]byte, n)
	if at < len(m.data) {
		copy(b, m.data[at:])
	}
	return b
}

// place is an offset near the limit of a strip, or anywhere.
func (m *model) place() int {
	if m.rng.IntN(2) == 0 {
		return max(0, m.rng.IntN(8)*65536+m.rng.IntN(5)-2)
	}
	return m.rng.IntN(modelBytesMax / 2)
}

func (m *model) random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.rng.Uint32())
	}
	return b
}

// blocks are the numbers of a strided operation.
func (m *model) blocks() (count, block, stride int) {
	block = 1 + m.rng.IntN(3000)
	return 1 + m.rng.IntN(40), block, block + m.rng.IntN(5000)
}

// viewed is the file offset of byte v in a view of blocks with gaps. The blocks and gaps are repeated without end; there is no
// gap after the last block.
func viewed(v, count, block, stride int) int {
	tile, v := v/(count*block), v%(count*block)
	return tile*((count-1)*stride+block) + v/block*stride + v%block
}

// local names a new local file for one operation.
func (m *model) local(kind string) string {
	return fmt.Sprintf("%s%s-%d", strings.ReplaceAll(m.path, "/", "_"), kind, len(m.lines))
}

// step adds one operation.
func (m *model) step() {
	at, name := m.place(), m.local("data")
	kinds := 6
	if m.gaps {
		kinds = 8
	}
	switch m.rng.IntN(kinds) {
	case 0, 1: // contiguous
		b := m.random(1 + m.rng.IntN(200000))
		m.write("write", fmt.Sprintf("%d %d", at, len(b)), name, b)
		m.put(at, b)
	case 2: // pieces in the file
		count, block, stride := m.blocks()
		b := m.random(count * block)
		m.write("swrite", fmt.Sprintf("%d %d %d %d", at, count, block, stride), name, b)
		for k := range b {
			m.put(viewed(at+k, count, block, stride), b[k:k+1])
		}
	case 3:
		n := m.place()
		m.lines = append(m.lines, fmt.Sprintf("truncate %s %d", m.path, n))
		m.data = slices.Clone(m.get(0, n))
	case 4:
		n := 1 + m.rng.IntN(200000)
		m.read("read", fmt.Sprintf("%d %d", at, n), name, m.get(at, n))
	case 5:
		count, block, stride := m.blocks()
		b := make([]byte, count*block)
		for k := range b {
			copy(b[k:], m.get(viewed(at+k, count, block, stride), 1))
		}
		m.read("sread", fmt.Sprintf("%d %d %d %d", at, count, block, stride), name, b)
	case 6: // pieces in memory
		count, block, stride := m.blocks()
		b := m.random(count * stride)
		m.write("mwrite", fmt.Sprintf("%d %d %d %d", at, count, block, stride), name, b)
		for i := range count {
			m.put(at+i*block, b[i*stride:i*stride+block])
		}
	case 7:
		count, block, stride := m.blocks()
		b := make([]byte, count*stride)
		for i := range count {
			copy(b[i*stride:], m.get(at+i*block, block))
		}
		m.read("mread", fmt.Sprintf("%d %d %d %d", at, count, block, stride), name, b)
	}
}

func (m *model) write(op, numbers, name string, b []byte) {
	m.w.local(m.t, name, b)
	m.lines = append(m.lines, fmt.Sprintf("%s %s %s %s", op, m.path, numbers, name))
}

func (m *model) read(op, numbers, name string, b []byte) {
	m.lines = append(m.lines, fmt.Sprintf("%s %s %s %s", op, m.path, numbers, name))
	m.want[name] = b
}

// check checks the results of a script.
func (m *model) check(answers []string) {
	for i, a := range answers {
		if !strings.HasPrefix(a, "ok") {
			m.t.Errorf("%s: %s", m.lines[i], a)
		}
	}
	for name, want := range m.want {
		got, err := os.ReadFile(filepath.Join(m.w.Dir, name))
		require.NoError(m.t, err)
		if at := firstDifference(want, got); at >= 0 {
			m.t.Errorf("%s: byte %d of %d, %d came", m.line(name), at, len(want), len(got))
		}
	}
}

// line is the line of the script for a local file.
func (m *model) line(name string) string {
	i := slices.IndexFunc(m.lines, func(l string) bool { return strings.HasSuffix(l, " "+name) })
	return fmt.Sprintf("operation %d, %s", i, m.lines[i])
}

// firstDifference is the first index where two slices differ; -1 if they are equal.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// randomFile makes a script of operations on a new file.
func randomFile(t testing.TB, w *world, rng *rand.Rand, path string, steps int) *model {
	// With several servers, the library takes the bytes of memory with gaps from wrong places, also with stock servers. So this
	// is tested only with one.
	m := &model{w: w, t: t, rng: rng, path: path, gaps: len(w.addresses) == 1, want: map[string][]byte{}}
	strip := []int{65536, 1000, 4096}[rng.IntN(3)]
	m.lines = append(m.lines, fmt.Sprintf("create %s %d %d", path, 1+rng.IntN(4), strip))
	for range steps {
		m.step()
	}
	m.read("read", fmt.Sprintf("0 %d", len(m.data)+10), m.local("all"), m.get(0, len(m.data)+10))
	return m
}

// TestLibraryIO: several stock clients at a time do random I/O and truncations, each on its own files. The I/O is contiguous, or
// in pieces of the file and of memory.
func TestLibraryIO(t *testing.T) {
	program := library(t)
	const clients, steps = 4, 60
	for _, n := range fleets {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sim.RunAtMost(t, 3, func(t *testing.T, seed uint64) {
				w := ours(t, n, nil)
				var all []*model
				for i := range clients {
					all = append(all, randomFile(t, w, rand.New(rand.NewPCG(seed, uint64(i))), fmt.Sprintf("/f%d", i), steps))
				}
				answers := make([][]string, clients)
				var wait sync.WaitGroup
				for i, m := range all {
					wait.Go(func() { answers[i] = w.script(t, program, m.lines...) })
				}
				wait.Wait()
				for i, m := range all {
					m.check(answers[i])
				}
			})
		})
	}
}

// TestManyNames: several clients at a time make thousands of names, in directories on one server and in divided ones. All are
// listed, with few and with many at a time, and can be removed.
func TestManyNames(t *testing.T) {
	program := library(t)
	const clients, each = 4, 700
	for name, change := range map[string]func(*config.GenOptions){
		"one":     nil,
		"spread":  func(o *config.GenOptions) { o.DistrDir.Initial, o.DistrDir.Max, o.DistrDir.Split = 4, 4, 100 },
		"divided": func(o *config.GenOptions) { o.DistrDir.Initial, o.DistrDir.Max, o.DistrDir.Split = 1, 4, 100 },
	} {
		t.Run(name, func(t *testing.T) {
			w := ours(t, 4, change)
			require.Equal(t, []string{"ok"}, w.script(t, program, "mkdir /d"))
			want := map[string]bool{}
			var wait sync.WaitGroup
			for c := range clients {
				var lines []string
				for i := range each {
					name := fmt.Sprintf("name-%d-%d", c, i)
					want[name] = true
					lines = append(lines, "create /d/"+name)
				}
				wait.Go(func() {
					for i, a := range w.script(t, program, lines...) {
						if a != "ok" {
							t.Errorf("%s: %s", lines[i], a)
						}
					}
				})
			}
			wait.Wait()
			for _, count := range []int{512, 7} {
				answer := w.script(t, program, fmt.Sprintf("names /d %d", count))[0]
				words := strings.Fields(answer)
				require.Equal(t, []string{"ok", fmt.Sprint(len(want))}, words[len(words)-2:])
				got := map[string]bool{}
				for _, word := range words[:len(words)-2] {
					got[word] = true
				}
				require.Equal(t, want, got)
			}
			require.Equal(t, fmt.Sprint(len(want)), w.fields(t, "/d")["dir entries"])
			require.Len(t, strings.Fields(w.OK(t, "pvfs2-ls", at("/d"))), len(want))
			require.Len(t, strings.Split(strings.TrimSpace(w.OK(t, "pvfs2-lsplus", "-l", at("/d"))), "\n"), len(want))
			var lines []string
			for name := range want {
				lines = append(lines, "remove /d/"+name)
			}
			for i, a := range w.script(t, program, append(lines, "remove /d", "names / 100")...) {
				require.True(t, strings.HasSuffix(a, "ok") || strings.HasSuffix(a, "ok 1"), "%d: %s", i, a)
			}
		})
	}
}
