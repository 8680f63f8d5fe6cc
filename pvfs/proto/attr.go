package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of attributes.
const (
	maxDirdata  = 1024 // dirdata objects of a directory
	maxBitmap   = 1024 // words
	maxDistName = 128  // bytes
	minAttr     = 48   // bytes of the smallest attributes
)

// stuffed reports whether these are the attributes of a stuffed file, whose data are in one datafile on its own server. The mask
// may leave that open.
func (a *Attr) stuffed() bool { return a.Type == TypeMetafile && a.Mask&AttrUnstuffed == 0 }

func (w *writer) attr(a *Attr) {
	w.u32(a.Owner)
	w.u32(a.Group)
	w.u32(a.Perms)
	w.skip4()
	w.i64(a.ATime)
	w.i64(a.MTime)
	w.i64(a.CTime)
	w.mask(a.Mask)
	w.objType(a.Type)
	if a.Mask&AttrCapability != 0 {
		w.capability(&a.Capability)
	}
	if a.stuffed() {
		w.i32(a.StuffedSize)
		w.skip4()
	}
	if a.Mask&AttrDist != 0 {
		w.dist(&a.Dist)
	}
	if a.Mask&AttrDatafiles != 0 {
		w.count(len(a.Datafiles))
		w.skip4()
		w.handles(a.Datafiles)
		w.u64(a.Flags)
	}
	if a.Mask&AttrMirror != 0 {
		w.mirrors(a)
	}
	if a.Mask&AttrDatafileSize != 0 {
		w.i64(a.DatafileSize)
	}
	if a.Mask&AttrTarget != 0 {
		w.count(len(a.Target) + 1)
		w.skip4()
		w.str(a.Target)
	}
	if a.Mask&AttrDistDir != 0 {
		w.distDir(&a.DistDir)
	}
	if a.Mask&(AttrDirentCount|AttrDirHint) != 0 {
		w.i64(a.DirentCount)
		w.dirHint(&a.Hint)
	}
}

// mirrors writes Copies handles for each datafile.
func (w *writer) mirrors(a *Attr) {
	copies := int(a.Copies)
	n := 0
	if a.Mask&AttrDatafiles != 0 && len(a.Datafiles) > 0 {
		copies = len(a.Mirrors) / len(a.Datafiles)
		n = copies * len(a.Datafiles)
	}
	w.count(copies)
	w.skip4()
	w.handles(a.Mirrors[:n])
}

func (w *writer) distDir(d *DistDir) {
	w.i32(d.TreeHeight)
	w.count(len(d.Dirdata))
	w.count(len(d.Bitmap))
	w.i32(d.SplitSize)
	w.i32(d.ServerNo)
	w.i32(d.BranchLevel)
	for _, word := range d.Bitmap {
		w.u32(word)
	}
	w.skip4()
	w.handles(d.Dirdata)
}

// dirHint writes the settings that new files inherit. The servers are stored as text: their number and their addresses, separated
// by blanks.
func (w *writer) dirHint(h *DirHint) {
	w.sized(h.DistName)
	w.sized(h.DistParams)
	w.u32(h.Datafiles)
	w.i32(int32(h.Layout))
	w.count(len(h.Servers))
	w.i32(h.serversBytes())
	w.str(h.serversText())
}

func (h *DirHint) serversText() string {
	if len(h.Servers) == 0 {
		return ""
	}
	return strconv.Itoa(len(h.Servers)) + " " + strings.Join(h.Servers, " ")
}

// serversBytes is the size of the buffer for the servers. If it is not given, it is the size of the text with the final zero.
func (h *DirHint) serversBytes() int32 {
	if h.ServersBytes == 0 && len(h.Servers) > 0 {
		return int32(len(h.serversText()) + 1)
	}
	return h.ServersBytes
}

// sized writes a string preceded by its size, which includes the final zero; 0 for an empty one.
func (w *writer) sized(s string) {
	size := len(s) + 1
	if s == "" {
		size = 0
	}
	w.count(size)
	w.skip4()
	w.str(s)
}

func (r *reader) attr(a *Attr) {
	*a = Attr{}
	a.Owner = r.u32("owner")
	a.Group = r.u32("group")
	a.Perms = r.u32("permissions")
	r.skip4()
	a.ATime = r.i64("atime")
	a.MTime = r.i64("mtime")
	a.CTime = r.i64("ctime")
	a.Mask = r.mask()
	a.Type = r.objType("object type")
	if a.Mask&AttrCapability != 0 {
		r.capability(&a.Capability)
	}
	if a.stuffed() {
		a.StuffedSize = r.i32("stuffed size")
		r.skip4()
	}
	if a.Mask&AttrDist != 0 {
		r.dist(&a.Dist)
	}
	if a.Mask&AttrDatafiles != 0 {
		n := r.count("datafiles", MaxDatafiles, 8)
		r.skip4()
		a.Datafiles = r.handles("datafiles", n)
		a.Flags = r.u64("file flags")
	}
	if a.Mask&AttrMirror != 0 {
		r.mirrors(a)
	}
	if a.Mask&AttrDatafileSize != 0 {
		a.DatafileSize = r.i64("datafile size")
	}
	if a.Mask&AttrTarget != 0 {
		r.u32("target size")
		r.skip4()
		a.Target = r.str("target", MaxPath)
	}
	if a.Mask&AttrDistDir != 0 {
		r.distDir(&a.DistDir)
	}
	if a.Mask&(AttrDirentCount|AttrDirHint) != 0 {
		a.DirentCount = r.i64("dirent count")
		r.dirHint(&a.Hint)
	}
}

func (r *reader) mirrors(a *Attr) {
	at := r.off
	a.Copies = r.u32("mirrors")
	r.skip4()
	n := uint64(a.Copies) * uint64(len(a.Datafiles)) // at most 2^42
	if n > uint64(r.left()/8) {
		r.off = at
		r.fail(ErrMalformed, "mirrors", "%d copies of %d datafiles do not fit in the rest of the message", a.Copies, len(a.Datafiles))
		return
	}
	a.Mirrors = r.handles("mirrors", int(n))
}

func (r *reader) distDir(d *DistDir) {
	d.TreeHeight = r.i32("tree height")
	servers := r.count("dirdata objects", maxDirdata, 8)
	words := r.count("directory bitmap", maxBitmap, 4)
	d.SplitSize = r.i32("split size")
	d.ServerNo = r.i32("server number")
	d.BranchLevel = r.i32("branch level")
	if words > 0 && r.err == nil {
		d.Bitmap = make([]uint32, words)
		for i := range d.Bitmap {
			d.Bitmap[i] = r.u32("directory bitmap")
		}
	}
	r.skip4()
	d.Dirdata = r.handles("dirdata objects", servers)
}

func (r *reader) dirHint(h *DirHint) {
	r.u32("hint distribution size")
	r.skip4()
	h.DistName = r.str("hint distribution", maxDistName)
	r.u32("hint parameters size")
	r.skip4()
	h.DistParams = r.str("hint parameters", maxDist)
	h.Datafiles = r.u32("hint datafiles")
	h.Layout = LayoutAlgorithm(r.i32("hint layout"))
	r.i32("hint servers")
	h.ServersBytes = r.i32("hint servers size")
	if fields := strings.Fields(r.str("hint servers", MaxLayoutBytes)); len(fields) > 1 {
		h.Servers = fields[1:]
	}
	h.ServersBytes = h.serversBytes()
}

var maskNames = []struct {
	bits AttrMask
	name string
}{
	{AttrCommon, "common"},
	{AttrUID, "uid"}, {AttrGID, "gid"}, {AttrPerm, "perm"}, {AttrATime, "atime"}, {AttrCTime, "ctime"},
	{AttrMTime, "mtime"}, {AttrType, "type"}, {AttrATimeSet, "atime_set"}, {AttrMTimeSet, "mtime_set"},
	{AttrDist, "dist"}, {AttrDatafiles, "datafiles"}, {AttrUnstuffed, "unstuffed"}, {AttrMirror, "mirror"},
	{AttrDatafileSize, "datafile_size"}, {AttrTarget, "target"}, {AttrDirentCount, "dirent_count"},
	{AttrDirHint, "dir_hint"}, {AttrDistDir, "dist_dir"}, {AttrCapability, "capability"},
}

func (m AttrMask) String() string {
	var parts []string
	for _, n := range maskNames {
		if m&n.bits == n.bits {
			parts, m = append(parts, n.name), m&^n.bits
		}
	}
	if m != 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%#x", uint32(m)))
	}
	return strings.Join(parts, "|")
}

func (d DistDir) String() string {
	return fmt.Sprintf("{dirdata=%v bitmap=%#x split=%d server=%d height=%d level=%d}",
		shorten(d.Dirdata), d.Bitmap, d.SplitSize, d.ServerNo, d.TreeHeight, d.BranchLevel)
}

func (h DirHint) String() string {
	if h.DistName == "" && h.DistParams == "" && h.Datafiles == 0 && h.Layout == 0 && len(h.Servers) == 0 {
		return "none"
	}
	return fmt.Sprintf("{%q(%q) datafiles=%d layout=%v servers=%q in %d bytes}",
		h.DistName, h.DistParams, h.Datafiles, h.Layout, h.Servers, h.ServersBytes)
}

// String prints the fields that are present.
func (a Attr) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%v owner=%d:%d perms=%#o atime=%d mtime=%d ctime=%d mask=%v",
		a.Type, a.Owner, a.Group, a.Perms, a.ATime, a.MTime, a.CTime, a.Mask)
	has := func(bits AttrMask, format string, args ...any) {
		if a.Mask&bits != 0 {
			fmt.Fprintf(&b, format, args...)
		}
	}
	has(AttrCapability, " capability=%v", a.Capability)
	if a.stuffed() {
		fmt.Fprintf(&b, " stuffed=%d", a.StuffedSize)
	}
	has(AttrDist, " dist=%v", a.Dist)
	has(AttrDatafiles, " datafiles=%v flags=%#x", shorten(a.Datafiles), a.Flags)
	has(AttrMirror, " copies=%d mirrors=%v", a.Copies, shorten(a.Mirrors))
	has(AttrDatafileSize, " size=%d", a.DatafileSize)
	has(AttrTarget, " target=%q", a.Target)
	has(AttrDistDir, " dir=%v", a.DistDir)
	has(AttrDirentCount|AttrDirHint, " entries=%d hint=%v", a.DirentCount, a.Hint)
	return b.String() + "}"
}
