package manifest

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The beginning of a manifest.
const (
	magic   = "VIADCKPT"
	version = 1
)

// Sizes of the parts of a manifest.
const (
	headBytes = 56
	itemBytes = 24 // without name, kind, shape and sums
	dimBytes  = 8
	sumBytes  = 4
)

// Append appends a manifest in its form as bytes. It returns an error unless m is valid.
func (m *Manifest) Append(b []byte) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	begin := len(b)
	b = m.append(b)
	if n := len(b) - begin; n > BytesMax {
		return nil, errclass.New(errclass.ValueTooLarge, "the manifest has %d bytes, at most %d are possible: save fewer items", n, BytesMax)
	}
	return b, nil
}

func (m *Manifest) append(b []byte) []byte {
	begin, le := len(b), binary.LittleEndian
	b = append(b, magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, 0) // the length is known at the end
	b = le.AppendUint64(b, uint64(m.Number))
	b = le.AppendUint64(b, uint64(m.Step))
	b = le.AppendUint64(b, uint64(m.DataBytes))
	b = le.AppendUint32(b, uint32(m.BlockBytes))
	b = le.AppendUint32(b, uint32(m.Ranks))
	b = le.AppendUint32(b, uint32(len(m.Items)))
	b = le.AppendUint32(b, 0)
	for i := range m.Items {
		it := &m.Items[i]
		b = append(b, byte(it.Type), byte(len(it.Name)), byte(len(it.Kind)), byte(len(it.Shape)))
		b = le.AppendUint32(b, uint32(it.ElemBytes))
		b = le.AppendUint64(b, uint64(it.Off))
		b = le.AppendUint64(b, uint64(it.Len))
		b = append(b, it.Name...)
		b = append(b, it.Kind...)
		for _, d := range it.Shape {
			b = le.AppendUint64(b, uint64(d))
		}
		for _, s := range it.Sums {
			b = le.AppendUint32(b, s)
		}
	}
	le.PutUint32(b[begin+len(magic)+4:], uint32(len(b)-begin+sumBytes))
	return le.AppendUint32(b, sums.Of(b[begin:]))
}

// Parse reads a manifest. It allocates no more than a few times the length of b. Errors have class IO
// if it is damaged, and UnsupportedOperation if it is of a newer version.
func Parse(b []byte) (*Manifest, error) {
	le := binary.LittleEndian
	switch {
	case len(b) < headBytes+sumBytes:
		return nil, damaged("it has %d bytes", len(b))
	case string(b[:len(magic)]) != magic:
		return nil, damaged("it begins with %q", b[:len(magic)])
	}
	end := len(b) - sumBytes
	if got, want := sums.Of(b[:end]), le.Uint32(b[end:]); got != want {
		return nil, damaged("its checksum is %#08x, and that of its bytes %#08x", want, got)
	}
	if v := le.Uint32(b[8:]); v != version {
		return nil, errclass.New(errclass.UnsupportedOperation, "the manifest has version %d, and this program knows version %d: take a program of that version", v, version)
	}
	if n := le.Uint32(b[12:]); int64(n) != int64(len(b)) {
		return nil, damaged("it has %d bytes, and should have %d", len(b), n)
	}
	m := &Manifest{
		Number: int64(le.Uint64(b[16:])), Step: int64(le.Uint64(b[24:])), DataBytes: int64(le.Uint64(b[32:])),
		BlockBytes: int64(le.Uint32(b[40:])), Ranks: int(le.Uint32(b[44:])),
	}
	items := int(le.Uint32(b[48:]))
	if zero := le.Uint32(b[52:]); zero != 0 {
		return nil, damaged("a field that must be 0 is %d", zero)
	}
	if m.BlockBytes < BlockBytesMin {
		return nil, damaged("its blocks have %d bytes", m.BlockBytes)
	}
	r := reader{b[headBytes:end]}
	for range items {
		it, ok := r.item(m.BlockBytes)
		if !ok {
			return nil, damaged("it ends within item %d of %d", len(m.Items), items)
		}
		m.Items = append(m.Items, it)
	}
	if len(r.b) > 0 {
		return nil, damaged("%d bytes follow its items", len(r.b))
	}
	return m, m.Check()
}

// A reader takes the bytes of a manifest from the front.
type reader struct{ b []byte }

// item takes an item, unless there are too few bytes.
func (r *reader) item(block int64) (it Item, ok bool) {
	le := binary.LittleEndian
	head, ok := r.take(itemBytes)
	if !ok {
		return it, false
	}
	it = Item{
		Type: Type(head[0]), ElemBytes: int64(le.Uint32(head[4:])),
		Off: int64(le.Uint64(head[8:])), Len: int64(le.Uint64(head[16:])),
	}
	name, ok := r.take(int64(head[1]))
	if !ok {
		return it, false
	}
	kind, ok := r.take(int64(head[2]))
	if !ok {
		return it, false
	}
	it.Name, it.Kind = string(name), string(kind)
	shape, ok := r.take(dimBytes * int64(head[3]))
	if !ok {
		return it, false
	}
	for ; len(shape) > 0; shape = shape[dimBytes:] {
		it.Shape = append(it.Shape, int64(le.Uint64(shape)))
	}
	count := sums.Count(max(it.Len, 0), block)
	if count > int64(len(r.b)/sumBytes) {
		return it, false
	}
	all, _ := r.take(sumBytes * count)
	for ; len(all) > 0; all = all[sumBytes:] {
		it.Sums = append(it.Sums, le.Uint32(all))
	}
	return it, true
}

// take takes n bytes, unless there are fewer.
func (r *reader) take(n int64) ([]byte, bool) {
	if n > int64(len(r.b)) {
		return nil, false
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b, true
}
