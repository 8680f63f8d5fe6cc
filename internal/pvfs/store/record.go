package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// recordVersion begins every record. Each change of a format takes the next number.
const recordVersion = 1

// A record is its version, its body, and a checksum over key, version and body.
const recordFrame = 1 + 4

// recordMax is the size of the largest valid record, bytes. A larger one is damaged.
const recordMax = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal makes a record. build appends the body.
func seal(key []byte, size int, build func(b []byte) []byte) []byte {
	b := append(make([]byte, 0, size+recordFrame), recordVersion)
	b = build(b)
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
	return binary.LittleEndian.AppendUint32(b, sum)
}

// unseal checks a record and returns its body, a view.
func unseal(key, record []byte) ([]byte, error) {
	if len(record) < recordFrame || len(record) > recordMax {
		return nil, damaged("record %x of %d bytes", key, len(record))
	}
	body := record[:len(record)-4]
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, body)
	if sum != binary.LittleEndian.Uint32(record[len(body):]) {
		return nil, damaged("record %x: wrong checksum", key)
	}
	if body[0] != recordVersion {
		return nil, damaged("record %x: version %d, known is %d", key, body[0], recordVersion)
	}
	return body[1:], nil
}

// damaged makes the error for data that cannot be read: EIO.
func damaged(format string, args ...any) error {
	return fmt.Errorf("store: %s: %w", fmt.Sprintf(format, args...), syscall.EIO)
}

// Parts of an object's record. The record begins with a number made of these bits.
const (
	partCommon = 1 << iota // owner, group, perms, times
	partDist
	partDatafiles
	partMirrors
	partTarget
	partDistDir
	partHint
	partParent
	partFlags
	partsAll = 1<<iota - 1
)

// derivedMask has the bits of attributes that are never stored.
const derivedMask = proto.AttrCapability

// kept returns the object as a later read returns it.
func kept(o Object) Object {
	o.Mask &^= derivedMask
	o.Capability, o.StuffedSize, o.DatafileSize, o.DirentCount = proto.Capability{}, 0, 0, 0
	return o
}

func partsOf(o *Object) (parts uint64) {
	set := func(part uint64, there bool) {
		if there {
			parts |= part
		}
	}
	set(partCommon, o.Owner|o.Group|o.Perms != 0 || o.ATime|o.MTime|o.CTime != 0)
	set(partDist, o.Dist != proto.Dist{})
	set(partDatafiles, len(o.Datafiles) > 0)
	set(partMirrors, o.Copies != 0 || len(o.Mirrors) > 0)
	set(partTarget, o.Target != "")
	d := &o.DistDir
	set(partDistDir, d.TreeHeight|d.SplitSize|d.ServerNo|d.BranchLevel != 0 || len(d.Bitmap)+len(d.Dirdata) > 0)
	h := &o.Hint
	set(partHint, h.DistName+h.DistParams != "" || h.Datafiles != 0 || h.Layout != 0 || h.ServersBytes != 0 || len(h.Servers) > 0)
	set(partParent, o.Parent != 0)
	set(partFlags, o.Flags != 0)
	return parts
}

// appendObject appends the body of an object's record.
func appendObject(b []byte, o *Object) []byte {
	parts := partsOf(o)
	b = binary.AppendUvarint(b, parts)
	b = binary.AppendUvarint(b, uint64(uint32(o.Type)))
	b = binary.AppendUvarint(b, uint64(o.Mask&^derivedMask))
	if parts&partCommon != 0 {
		for _, v := range []uint32{o.Owner, o.Group, o.Perms} {
			b = binary.AppendUvarint(b, uint64(v))
		}
		for _, v := range []int64{o.ATime, o.MTime, o.CTime} {
			b = binary.AppendVarint(b, v)
		}
	}
	if parts&partDist != 0 {
		b = appendString(b, o.Dist.Name)
		b = binary.AppendVarint(b, o.Dist.StripSize)
		b = appendString(b, o.Dist.Strips)
		b = binary.AppendUvarint(b, uint64(o.Dist.Groups))
		b = binary.AppendUvarint(b, uint64(o.Dist.Factor))
	}
	if parts&partDatafiles != 0 {
		b = appendHandles(b, o.Datafiles)
	}
	if parts&partMirrors != 0 {
		b = binary.AppendUvarint(b, uint64(o.Copies))
		b = appendHandles(b, o.Mirrors)
	}
	if parts&partTarget != 0 {
		b = appendString(b, o.Target)
	}
	if parts&partDistDir != 0 {
		b = appendDistDir(b, &o.DistDir)
	}
	if parts&partHint != 0 {
		b = appendHint(b, &o.Hint)
	}
	if parts&partParent != 0 {
		b = binary.LittleEndian.AppendUint64(b, uint64(o.Parent))
	}
	if parts&partFlags != 0 {
		b = binary.AppendUvarint(b, o.Flags)
	}
	return b
}

func appendDistDir(b []byte, d *proto.DistDir) []byte {
	for _, v := range []int32{d.TreeHeight, d.SplitSize, d.ServerNo, d.BranchLevel} {
		b = binary.AppendVarint(b, int64(v))
	}
	b = binary.AppendUvarint(b, uint64(len(d.Bitmap)))
	for _, w := range d.Bitmap {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return appendHandles(b, d.Dirdata)
}

func appendHint(b []byte, h *proto.DirHint) []byte {
	b = appendString(b, h.DistName)
	b = appendString(b, h.DistParams)
	b = binary.AppendUvarint(b, uint64(h.Datafiles))
	b = binary.AppendVarint(b, int64(h.Layout))
	b = binary.AppendVarint(b, int64(h.ServersBytes))
	b = binary.AppendUvarint(b, uint64(len(h.Servers)))
	for _, s := range h.Servers {
		b = appendString(b, s)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendHandles(b []byte, handles []proto.Handle) []byte {
	b = binary.AppendUvarint(b, uint64(len(handles)))
	for _, h := range handles {
		b = binary.LittleEndian.AppendUint64(b, uint64(h))
	}
	return b
}

// parseObject parses the body of an object's record.
func parseObject(body []byte) (o Object, err error) {
	r := reader{b: body}
	parts := r.uvarint(partsAll)
	o.Type = proto.ObjType(r.uvarint(math.MaxInt32))
	o.Mask = proto.AttrMask(r.uvarint(math.MaxUint32))
	if parts&partCommon != 0 {
		for _, v := range []*uint32{&o.Owner, &o.Group, &o.Perms} {
			*v = uint32(r.uvarint(math.MaxUint32))
		}
		for _, v := range []*int64{&o.ATime, &o.MTime, &o.CTime} {
			*v = r.varint(math.MinInt64, math.MaxInt64)
		}
	}
	if parts&partDist != 0 {
		o.Dist.Name = r.string()
		o.Dist.StripSize = r.varint(math.MinInt64, math.MaxInt64)
		o.Dist.Strips = r.string()
		o.Dist.Groups = uint32(r.uvarint(math.MaxUint32))
		o.Dist.Factor = uint32(r.uvarint(math.MaxUint32))
	}
	if parts&partDatafiles != 0 {
		o.Datafiles = r.handles()
	}
	if parts&partMirrors != 0 {
		o.Copies = uint32(r.uvarint(math.MaxUint32))
		o.Mirrors = r.handles()
	}
	if parts&partTarget != 0 {
		o.Target = r.string()
	}
	if parts&partDistDir != 0 {
		r.distDir(&o.DistDir)
	}
	if parts&partHint != 0 {
		r.hint(&o.Hint)
	}
	if parts&partParent != 0 {
		o.Parent = proto.Handle(r.uint64())
	}
	if parts&partFlags != 0 {
		o.Flags = r.uvarint(math.MaxUint64)
	}
	if r.bad || len(r.b) > 0 || partsOf(&o) != parts {
		return Object{}, damaged("object with a malformed record")
	}
	return o, nil
}

// A reader parses a body. After the first error, bad is set and all values are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > most || n > 1 && r.b[n-1] == 0 { // each number has only one valid form
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint(least, most int64) int64 {
	u := r.uvarint(math.MaxUint64)
	v := int64(u>>1) ^ -int64(u&1)
	if v < least || v > most {
		r.fail()
		return 0
	}
	return v
}

func (r *reader) int32() int32 { return int32(r.varint(math.MinInt32, math.MaxInt32)) }

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

// count reads the number of items that follow, each of at least size bytes.
func (r *reader) count(size int) int {
	return int(r.uvarint(uint64(len(r.b) / size)))
}

func (r *reader) string() string {
	n := r.count(1)
	if n > len(r.b) {
		r.fail()
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) handles() []proto.Handle {
	n := r.count(8)
	if n == 0 {
		return nil
	}
	handles := make([]proto.Handle, n)
	for i := range handles {
		handles[i] = proto.Handle(r.uint64())
	}
	return handles
}

func (r *reader) distDir(d *proto.DistDir) {
	for _, v := range []*int32{&d.TreeHeight, &d.SplitSize, &d.ServerNo, &d.BranchLevel} {
		*v = r.int32()
	}
	if n := r.count(4); n > 0 && n*4 <= len(r.b) {
		d.Bitmap = make([]uint32, n)
		for i := range d.Bitmap {
			d.Bitmap[i] = binary.LittleEndian.Uint32(r.b[4*i:])
		}
		r.b = r.b[4*n:]
	} else if n > 0 {
		r.fail()
	}
	d.Dirdata = r.handles()
}

func (r *reader) hint(h *proto.DirHint) {
	h.DistName, h.DistParams = r.string(), r.string()
	h.Datafiles = uint32(r.uvarint(math.MaxUint32))
	h.Layout = proto.LayoutAlgorithm(r.int32())
	h.ServersBytes = r.int32()
	n := r.count(1)
	for range n {
		h.Servers = append(h.Servers, r.string())
	}
	h.Servers = slices.Clip(h.Servers)
}
