package fstest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// stepsOfRun is the default number of operations in a random run.
const stepsOfRun = 150

// shrinkTries limits the sequences that are run to shorten a failing one.
const shrinkTries = 300

// Random runs random operations for each of its seeds on the subject and on the model. It compares all results and at the end the
// whole tree. It fails t with a short sequence that shows the difference.
func Random(t *testing.T, f Factory) {
	t.Helper()
	s := f(t)
	seeds := s.Seeds
	if seeds == nil {
		seeds = sim.Seeds(t)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { RandomSeed(t, s, seed) })
	}
}

// RandomSeed is one run of Random.
func RandomSeed(t T, s *Subject, seed uint64) {
	t.Helper()
	steps := s.Steps
	if steps == 0 {
		steps = stepsOfRun
	}
	ops := draw(rand.New(rand.NewPCG(seed, 7)), steps, s.Lacks)
	r := &run{t: t, s: s, seed: seed}
	differs := r.play(ops)
	if differs == nil {
		return
	}
	if s.Disturb == nil { // with Disturb the difference may not occur again
		ops, differs = r.shrink(ops[:min(differs.step+1, len(ops))], differs)
	}
	var lines strings.Builder
	for i, o := range ops {
		fmt.Fprintf(&lines, "%3d  %s\n", i, o)
	}
	t.Errorf("seed %d: %s\nafter\n%s", seed, differs, lines.String())
}

// A run is the run of one seed.
type run struct {
	t    T
	s    *Subject
	seed uint64
}

// A difference is a difference between the subject and the model.
type difference struct {
	step      int // the number of operations if only the final tree shows it
	what      string
	want, got string
}

func (d *difference) String() string {
	return fmt.Sprintf("step %d, %s\nwant %s\ngot  %s", d.step, d.what, d.want, d.got)
}

// play runs a sequence in an empty directory, and returns the first difference.
func (r *run) play(ops []op) *difference {
	r.t.Helper()
	dir := fmt.Sprintf("random-%d-%d", os.Getpid(), places.Add(1))
	subject, err := newPlayer(r.s, dir)
	require.NoError(r.t, err, "make the directory of a run")
	oracle, err := newPlayer(&Subject{As: NewModel().As}, dir)
	require.NoError(r.t, err)
	rng := rand.New(rand.NewPCG(r.seed, 8))
	d := r.compare(ops, oracle, subject, rng)
	if d == nil {
		d = compareTrees(len(ops), oracle, subject)
	}
	if err := subject.end(); err != nil && d == nil {
		d = &difference{step: len(ops), what: "everything removed", want: "ok", got: err.Error()}
	}
	return d
}

func (r *run) compare(ops []op, oracle, subject *player, rng *rand.Rand) *difference {
	for i, o := range ops {
		if r.s.Disturb != nil && rng.IntN(20) == 0 {
			r.s.Disturb(r.t)
		}
		if untold(r.s, oracle, o) {
			continue
		}
		want, got := oracle.do(o), subject.do(o)
		if want != got {
			return &difference{step: i, what: o.String(), want: want, got: got}
		}
	}
	return nil
}

// untold reports whether file systems may differ in the result of an operation: it is on an open file without a name, or the
// kernel has its own rules for it.
func untold(s *Subject, oracle *player, o op) bool {
	if _, lacks := s.Lacks[OwnRules]; lacks && kernelRefuses(oracle, o) {
		return true
	}
	if _, lacks := s.Lacks[Unlinked]; !lacks {
		return false
	}
	switch o.verb {
	case "write", "read", "cut":
	default:
		return false
	}
	f, ok := oracle.open[o.slot].(*modelFile)
	return ok && !holdsFile(f.m.root, f.n)
}

// kernelRefuses reports whether the kernel refuses an operation that the model may allow, see OwnRules.
func kernelRefuses(oracle *player, o op) bool {
	m := oracle.fs[o.user].(*modelFS)
	need := uint32(mayWrite)
	switch o.verb {
	case "getx":
		need = mayRead
	case "setx", "delx", "rename":
	default:
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, no := m.existing(oracle.dir+"/"+o.name, o.verb != "rename")
	return no == 0 && !n.allows(m.user, need) && (o.verb != "rename" || n.kind == IsDir)
}

func holdsFile(top, n *node) bool {
	for _, child := range top.children {
		if child == n || child.kind == IsDir && holdsFile(child, n) {
			return true
		}
	}
	return false
}

// compareTrees compares all objects.
func compareTrees(step int, oracle, subject *player) *difference {
	queue := []string{"."}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		for _, verb := range []string{"lstat", "readdir", "readlink", "get"} {
			o := op{verb: verb, name: name}
			want := oracle.do(o)
			if strings.HasPrefix(want, "invalid") || strings.HasPrefix(want, "not a directory") {
				continue
			}
			if got := subject.do(o); want != got {
				return &difference{step: step, what: "in the end " + o.String(), want: want, got: got}
			}
		}
		entries, err := oracle.fs[0].ReadDir(oracle.dir + "/" + name)
		if info, _ := oracle.fs[0].Lstat(oracle.dir + "/" + name); err == nil && info.Kind == IsDir {
			for _, entry := range entries {
				queue = append(queue, name+"/"+entry.Name)
			}
		}
	}
	return nil
}

// shrink removes operations that the difference does not need.
func (r *run) shrink(ops []op, d *difference) ([]op, *difference) {
	tries := 0
	for size := len(ops) / 2; size > 0; {
		smaller := false
		for at := 0; at+size <= len(ops) && tries < shrinkTries; {
			tries++
			fewer := append(append([]op{}, ops[:at]...), ops[at+size:]...)
			if other := r.play(fewer); other != nil {
				ops, d, smaller = fewer[:min(other.step+1, len(fewer))], other, true
				continue
			}
			at += size
		}
		if !smaller || size > len(ops) {
			size /= 2
		}
	}
	return ops, d
}
