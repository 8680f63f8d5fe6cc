package file_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/exchange"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// TestModel runs random operations on random views, and compares every byte that is read, and in the
// end the whole file, with a slice. Ranks write at the same time, to different bytes; they do not
// read while others write.
func TestModel(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			named := p.make(t)
			sim.Run(t, func(t *testing.T, seed uint64) {
				rounds := uint64(6)
				if testing.Short() {
					rounds = 3
				}
				usual := exchange.NearMin
				defer func() { exchange.NearMin = usual }()
				for i := range rounds {
					if exchange.NearMin = usual; i%3 != 0 {
						exchange.NearMin = 1 // ranks share buffers in small operations, too
					}
					s := newScript(seed*100 + i)
					m := &model{s: s}
					name := named(fmt.Sprintf("file-%d-%d", seed, i))
					ranks(t, s.n, func(t *testing.T, w *mpi.Comm) { m.play(t, w, name) })
				}
			})
		})
	}
}

// A script is the description of a test for all ranks: the number of ranks, the hints, and the
// phases.
type script struct {
	seed   uint64
	n      int
	hints  []string
	rep    file.Datarep
	etype  *datatype.Type
	phases []phase
}

// A phase is a view, and some operations on it: writes or reads.
type phase struct {
	disp  int64
	slots []int // of a tile, in etypes: the rank that sees each, or -1
	write bool
	atom  bool
	ops   []int // how the operations are called: an index of ways
}

var etypes = []*datatype.Type{
	datatype.Byte, datatype.Int16, datatype.Int32, datatype.Float64, datatype.Complex64,
	datatype.Long, datatype.Wchar, datatype.LongDouble, // external32 converts them
}

func newScript(seed uint64) *script {
	r := rand.New(rand.NewPCG(seed, 14))
	s := &script{seed: seed, n: 1 + r.IntN(5), etype: etypes[r.IntN(len(etypes))], rep: file.Native}
	switch r.IntN(3) {
	case 0:
		s.rep = file.External32
	case 1:
		s.rep = stretched
	}
	three := []string{"automatic", "enable", "disable"}
	s.hints = []string{
		"cb_nodes", strconv.Itoa(1 + r.IntN(6)), "cb_buffer_size", strconv.Itoa(4096 + r.IntN(5000)),
		"ind_rd_buffer_size", "4096", "ind_wr_buffer_size", strconv.Itoa(4096 + r.IntN(5000)), "striping_unit", "3000",
		"romio_cb_write", three[r.IntN(3)], "romio_cb_read", three[r.IntN(3)],
		"romio_ds_write", three[r.IntN(3)], "romio_ds_read", three[r.IntN(3)],
	}
	for range 8 {
		p := phase{disp: int64(r.IntN(3) * r.IntN(500)), write: r.IntN(2) == 0, atom: r.IntN(5) == 0}
		// A tile of regions that belong to ranks, at times long ones.
		for range 1 + r.IntN(12) {
			owner, length := r.IntN(s.n+1)-1, 1+r.IntN(8)
			if r.IntN(6) == 0 {
				length = 1 + r.IntN(1500)
			}
			for range length {
				p.slots = append(p.slots, owner)
			}
		}
		for range 1 + r.IntN(4) {
			p.ops = append(p.ops, r.IntN(len(ways)))
		}
		s.phases = append(s.phases, p)
	}
	s.phases[0].write = true
	return s
}

// A way is one of the calls, for reading and for writing. off is where the individual pointer is
// put, or the offset.
type way struct {
	name string
	do   func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error)
}

func seek(f *file.File, off int64) error { return f.Seek(background, off, 0) }

func wait(r mpi.Request) (mpi.Status, error) { return r.Wait(background) }

// begun is a split collective operation: it is begun, then completed.
func begun(f *file.File, err error) (mpi.Status, error) {
	if err != nil {
		return mpi.Status{}, err
	}
	return f.End(background)
}

var ways = []way{
	{"individual", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if err := seek(f, off); err != nil {
			return mpi.Status{}, err
		}
		if write {
			return f.Write(background, b)
		}
		return f.Read(background, b)
	}},
	{"at", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if write {
			return f.WriteAt(background, off, b)
		}
		return f.ReadAt(background, off, b)
	}},
	{"iindividual", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if err := seek(f, off); err != nil {
			return mpi.Status{}, err
		}
		if write {
			return wait(f.Iwrite(b))
		}
		return wait(f.Iread(b))
	}},
	{"iat", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if write {
			return wait(f.IwriteAt(off, b))
		}
		return wait(f.IreadAt(off, b))
	}},
	{"all", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if err := seek(f, off); err != nil {
			return mpi.Status{}, err
		}
		if write {
			return f.WriteAll(background, b)
		}
		return f.ReadAll(background, b)
	}},
	{"at all", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if write {
			return f.WriteAtAll(background, off, b)
		}
		return f.ReadAtAll(background, off, b)
	}},
	{"iall", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if err := seek(f, off); err != nil {
			return mpi.Status{}, err
		}
		if write {
			return wait(f.IwriteAll(b))
		}
		return wait(f.IreadAll(b))
	}},
	{"iat all", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if write {
			return wait(f.IwriteAtAll(off, b))
		}
		return wait(f.IreadAtAll(off, b))
	}},
	{"split", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if err := seek(f, off); err != nil {
			return mpi.Status{}, err
		}
		if write {
			return begun(f, f.WriteAllBegin(b))
		}
		return begun(f, f.ReadAllBegin(b))
	}},
	{"split at", func(f *file.File, write bool, off int64, b mpi.Buffer) (mpi.Status, error) {
		if write {
			return begun(f, f.WriteAtAllBegin(off, b))
		}
		return begun(f, f.ReadAtAllBegin(off, b))
	}},
}

// A model is the bytes that the file should have.
type model struct {
	s *script

	mu    sync.Mutex
	bytes []byte
}

// put writes a byte.
func (m *model) put(off int64, b byte) {
	for int64(len(m.bytes)) <= off {
		m.bytes = append(m.bytes, 0)
	}
	m.bytes[off] = b
}

// at is a byte, and whether the file has it.
func (m *model) at(off int64) (byte, bool) {
	if off >= int64(len(m.bytes)) {
		return 0, false
	}
	return m.bytes[off], true
}

// play is the part of one rank.
func (m *model) play(t *testing.T, w *mpi.Comm, name string) {
	s, me := m.s, w.Rank()
	r := rand.New(rand.NewPCG(s.seed, uint64(100+me)))
	require.NoError(t, file.RegisterDatarep(w.Process(), stretched, stretching))
	open(t, w, name, file.ModeRdwr|file.ModeCreate, s.hints, func(f *file.File) {
		for i, p := range s.phases {
			mine, filetype := p.mine(t, s, me)
			require.NoError(t, f.SetAtomicity(background, p.atom))
			require.NoError(t, f.SetView(background, p.disp, s.etype, filetype, s.rep, nil))
			for _, op := range p.ops {
				what := fmt.Sprintf("seed %d, phase %d, %s, rank %d", s.seed, i, ways[op].name, me)
				m.operate(t, f, r, &p, mine, ways[op], what)
			}
		}
		require.NoError(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, file.Native, nil))
		all := make([]byte, len(m.bytes)+10)
		st, err := f.ReadAll(background, buf(all))
		require.NoError(t, err)
		require.Equal(t, len(m.bytes), st.Bytes, "seed %d", s.seed)
		require.Equal(t, m.bytes, all[:st.Bytes], "seed %d", s.seed)
	})
}

// mine lists the slots of a rank, and makes its filetype.
func (p *phase) mine(t *testing.T, s *script, me int) (slots []int, filetype *datatype.Type) {
	for i, owner := range p.slots {
		if owner == me {
			slots = append(slots, i)
		}
	}
	filetype, err := datatype.IndexedBlock(1, slots, s.etype)
	require.NoError(t, err)
	filetype, err = datatype.Resized(filetype, 0, len(p.slots)*s.size())
	require.NoError(t, err)
	return slots, filetype
}

// place is the offset in the file of byte d of the view.
func (p *phase) place(s *script, mine []int, d int64) int64 {
	size := int64(s.size())
	n := d / size
	tile, slot := n/int64(len(mine)), mine[n%int64(len(mine))]
	return p.disp + (tile*int64(len(p.slots))+int64(slot))*size + d%size
}

// operate does one operation in both worlds.
func (m *model) operate(t *testing.T, f *file.File, r *rand.Rand, p *phase, mine []int, w way, what string) {
	s := m.s
	off, count := int64(r.IntN(3)*r.IntN(2000)), r.IntN(2)*r.IntN(3000)+r.IntN(5)
	if len(mine) == 0 {
		off, count = 0, 0
	}
	// The memory has a gap behind every element, half of the time.
	native, size := s.etype.Size(), s.size()
	stride := native * (1 + r.IntN(2))
	mem := make([]byte, count*stride+1)
	for i := range mem {
		mem[i] = byte(1 + r.IntN(255))
	}
	element, err := datatype.Resized(s.etype, 0, stride)
	require.NoError(t, err)
	b := mpi.Typed(mem, 0, count, element)
	if p.write {
		m.mu.Lock()
		for d, x := range s.pack(t, element, mem, count) {
			m.put(p.place(s, mine, off*int64(size)+int64(d)), x)
		}
		m.mu.Unlock()
		st, err := w.do(f, true, off, b)
		require.NoError(t, err, what)
		require.Equal(t, count*native, st.Bytes, what)
		return
	}
	packed, have := make([]byte, count*size), 0
	for d := range packed {
		x, ok := m.at(p.place(s, mine, off*int64(size)+int64(d)))
		if !ok {
			break
		}
		packed[d], have = x, d+1
	}
	want := append([]byte(nil), mem...)
	s.unpack(t, element, want, count, packed[:have-have%size])
	st, err := w.do(f, false, off, b)
	require.NoError(t, err, what)
	if s.converts() {
		have -= have % size // only whole elements count
	}
	require.Equal(t, have/size*native+have%size, st.Bytes, what)
	for i := range want {
		if i/stride >= have/size && i%stride < native {
			mem[i] = want[i] // undefined, behind the end of the file
		}
	}
	require.Equal(t, want, mem, what)
}

// stretched is a representation of the program's own: bytes are inverted, and each element has three
// bytes more.
const stretched file.Datarep = "stretched"

const stretch = 3

var stretching = file.Conversions{
	Extent: func(t *datatype.Type) (int, error) { return t.Size() + stretch, nil },
	Read: func(memory, file []byte, t *datatype.Type, n int) error {
		for i := range n {
			from := file[i*(t.Size()+stretch):]
			for j := range t.Size() {
				memory[i*t.Size()+j] = ^from[j]
			}
		}
		return nil
	},
	Write: func(file, memory []byte, t *datatype.Type, n int) error {
		for i := range n {
			to := file[i*(t.Size()+stretch):]
			for j := range t.Size() {
				to[j] = ^memory[i*t.Size()+j]
			}
			copy(to[t.Size():], "end")
		}
		return nil
	},
}

// size is the size of an etype in the file.
func (s *script) size() int {
	switch s.rep {
	case file.External32:
		n, _ := s.etype.PackExternalSize(1) // of one element
		return n
	case stretched:
		return s.etype.Size() + stretch
	}
	return s.etype.Size()
}

// converts tells whether more is done to elements than to change the order of bytes.
func (s *script) converts() bool {
	switch s.etype {
	case datatype.Long, datatype.Wchar:
		return s.rep != file.Native
	case datatype.LongDouble:
		return s.rep == stretched || s.rep == file.External32 && !number.LongDoubleIsFloat128
	}
	return s.rep == stretched
}

// pack is the bytes in the file of elements.
func (s *script) pack(t *testing.T, element *datatype.Type, mem []byte, count int) []byte {
	out := make([]byte, count*s.size())
	switch s.rep {
	case file.External32:
		_, err := element.PackExternal(out, mem, 0, count)
		require.NoError(t, err)
	case stretched:
		native := make([]byte, count*s.etype.Size())
		_, err := element.Pack(native, mem, 0, count)
		require.NoError(t, err)
		for i := range native {
			out[i/s.etype.Size()*s.size()+i%s.etype.Size()] = ^native[i]
		}
		for i := range count {
			copy(out[(i+1)*s.size()-stretch:], "end")
		}
	default:
		_, err := element.Pack(out, mem, 0, count)
		require.NoError(t, err)
	}
	return out
}

// unpack puts whole elements of the file into memory.
func (s *script) unpack(t *testing.T, element *datatype.Type, mem []byte, count int, src []byte) {
	switch s.rep {
	case file.External32:
		_, err := element.UnpackExternal(mem, 0, count, src)
		require.NoError(t, err)
	case stretched:
		native := make([]byte, len(src)/s.size()*s.etype.Size())
		for i := range native {
			native[i] = ^src[i/s.etype.Size()*s.size()+i%s.etype.Size()]
		}
		_, err := element.Unpack(mem, 0, count, native)
		require.NoError(t, err)
	default:
		_, err := element.Unpack(mem, 0, count, src)
		require.NoError(t, err)
	}
}
