package server

import (
	"crypto/md5"
	"encoding/binary"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The entries of a directory are spread over the dirdata objects in its list. The last bits of a name's hash choose the object.
// bucketOf takes as many bits as the tree is high, and then fewer and fewer until the bitmap has the bit of that object. Object i
// divides with object i + 2^level, where level is the first one for which that object is not in use.
// (src/common/misc/dist-dir-utils.c)

// frozen is the tree height in a dirdata object that is about to be removed: no name belongs to it.
const frozen = -1

// nameHash is the hash of a name: the second half of its MD5.
func nameHash(name string) uint64 {
	sum := md5.Sum([]byte(name))
	return binary.LittleEndian.Uint64(sum[8:])
}

// bucketOf is the index of the dirdata object that a name belongs to; -1 if there is none.
func bucketOf(d *proto.DistDir, name string) int {
	if d.TreeHeight < 0 || d.TreeHeight > 31 {
		return -1
	}
	if d.TreeHeight == 0 {
		return 0
	}
	hash := nameHash(name)
	for level := d.TreeHeight; level >= 0; level-- {
		i := int(hash & (1<<level - 1))
		if inUse(d, i) {
			return i
		}
	}
	return -1
}

// inUse reports whether a bucket is in use.
func inUse(d *proto.DistDir, i int) bool {
	return i >= 0 && i/32 < len(d.Bitmap) && d.Bitmap[i/32]>>(i%32)&1 != 0
}

// use sets or clears the bit of a bucket, in a copy of the bitmap.
func use(d *proto.DistDir, i int, on bool) {
	words := append([]uint32(nil), d.Bitmap...)
	if i/32 < len(words) {
		if on {
			words[i/32] |= 1 << (i % 32)
		} else {
			words[i/32] &^= 1 << (i % 32)
		}
	}
	d.Bitmap = words
}

// levelOf is the level at which a dirdata object divides next; -1 if it is not in use.
func levelOf(d *proto.DistDir, i int) int32 {
	if !inUse(d, i) {
		return -1
	}
	level := bits.Len(uint(i))
	for inUse(d, i+1<<level) {
		level++
	}
	return int32(level)
}

// dividesWith is the index of the dirdata object that takes half of the entries of d; -1 if there
// is none.
func dividesWith(d *proto.DistDir) int {
	i := int(d.ServerNo)
	level := levelOf(d, i)
	if level < 0 || level >= d.TreeHeight {
		return -1
	}
	if j := i + 1<<level; j < len(d.Dirdata) && !inUse(d, j) {
		return j
	}
	return -1
}

// spreadOver is the state of a directory over some dirdata objects, the first initial of which are in use.
func spreadOver(dirdata []proto.Handle, initial int, split int32) proto.DistDir {
	d := proto.DistDir{
		TreeHeight: int32(bits.Len(uint(len(dirdata) - 1))),
		SplitSize:  split,
		Dirdata:    dirdata,
	}
	d.Bitmap = make([]uint32, max(1, 1<<d.TreeHeight/32))
	for i := range initial {
		d.Bitmap[i/32] |= 1 << (i % 32)
	}
	d.BranchLevel = levelOf(&d, 0)
	return d
}

// ofBucket is the state as dirdata object i keeps it.
func ofBucket(d proto.DistDir, i int) proto.DistDir {
	d.ServerNo = int32(i)
	d.BranchLevel = levelOf(&d, i)
	return d
}
