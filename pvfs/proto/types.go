package proto

import "time"

// Version and Encoding begin every message.
const (
	Version  = 7000
	Encoding = 2
)

// Handle names an object of a file system. 0 is none.
type Handle uint64

// FSID is the number of a file system.
type FSID int32

// ObjType is the type of an object.
type ObjType int32

// The types of objects.
const (
	TypeNone      ObjType = 0
	TypeMetafile  ObjType = 1
	TypeDatafile  ObjType = 2
	TypeDirectory ObjType = 4
	TypeSymlink   ObjType = 8
	TypeDirdata   ObjType = 16
	TypeInternal  ObjType = 32
)

// Limits of the protocol.
const (
	MaxName        = 255 // bytes of one name, without its final zero
	MaxPath        = 4096
	MaxSegments    = 40 // of a path in one LOOKUP_PATH
	MaxGroups      = 32
	MaxHandles     = 1024 // of a capability, a batch, a tree operation
	MaxDatafiles   = 1024
	MaxSignature   = 512
	MaxHints       = 24
	MaxListAttr    = 60
	MaxReadDir     = 512
	MaxXattrs      = 16
	MaxXattrValue  = 8192
	MaxNested      = 100 // nodes below the outermost one of a file request
	MaxUnexpected  = 16384
	MaxConfig      = 65536
	MaxSmallWrite  = 6768  // data bytes of a SMALL_IO write, per datafile, as in stock clients
	MaxSmallRead   = 16344 // data bytes of a SMALL_IO read, per datafile
	MaxLayoutBytes = 4096
)

// Tokens of READDIR.
const (
	TokenStart = 0x7ffffffe
	TokenEnd   = 0x7ffffffd
)

// OpMask is the set of rights of a capability.
type OpMask uint32

// The rights in an OpMask.
const (
	MayExec OpMask = 1 << iota
	MayWrite
	MayRead
	MaySetAttr
	MayCreate
	MayAdmin
	MayRemove
	MayBatchCreate
	MayBatchRemove

	MayAll OpMask = 0xffffffff
)

// Capability grants rights to objects. A server issues it with an object's attributes, and its holder sends it with a request.
type Capability struct {
	Issuer    string // "S:" and the alias of the server; "" for none
	FS        FSID
	Signature []byte
	Timeout   time.Time // whole seconds
	Mask      OpMask
	Handles   []Handle
}

// Credential names the user of a request.
type Credential struct {
	User        uint32
	Groups      []uint32 // the first is the primary one
	Issuer      string   // "C:" and a host name
	Timeout     time.Time
	Signature   []byte
	Certificate []byte
}

// HintType is the type of a hint.
type HintType uint32

// The types of hints in use.
const (
	HintUnknown   HintType = 0 // two strings
	HintRequestID HintType = 1
	HintClientID  HintType = 2
	HintHandle    HintType = 3
	HintRank      HintType = 5
	HintServerID  HintType = 6
	HintOwnerGID  HintType = 13
)

// Hint is one hint. All types have a Value, except HintUnknown, which has Name and Text.
type Hint struct {
	Type       HintType
	Value      uint64
	Name, Text string
}

// Hints are sent with every request.
type Hints []Hint

// AttrMask is the set of attributes that are requested or present.
type AttrMask uint32

// The bits of an AttrMask.
const (
	AttrUID          AttrMask = 1 << 0
	AttrGID          AttrMask = 1 << 1
	AttrPerm         AttrMask = 1 << 2
	AttrATime        AttrMask = 1 << 3
	AttrCTime        AttrMask = 1 << 4
	AttrMTime        AttrMask = 1 << 5
	AttrType         AttrMask = 1 << 6
	AttrATimeSet     AttrMask = 1 << 7
	AttrMTimeSet     AttrMask = 1 << 8
	AttrDist         AttrMask = 1 << 10
	AttrDatafiles    AttrMask = 1 << 11
	AttrUnstuffed    AttrMask = 1 << 12
	AttrMirror       AttrMask = 1 << 13
	AttrDatafileSize AttrMask = 1 << 15
	AttrTarget       AttrMask = 1 << 18
	AttrDirentCount  AttrMask = 1 << 19
	AttrDirHint      AttrMask = 1 << 20
	AttrDistDir      AttrMask = 1 << 21
	AttrCapability   AttrMask = 1 << 22
	AttrCommon       AttrMask = 0x7f
	AttrMetafile     AttrMask = 0x782c7f // stock clients' mask for lookup and open
	AttrStat         AttrMask = 0x7cac7f // for stat
	AttrCreate       AttrMask = 0x2c7f   // of the attributes of a CREATE
	AttrMkdir        AttrMask = 0x10007f // of the attributes of a MKDIR
	AttrListAttr     AttrMask = 0x3cac7f
	AttrUnstuff      AttrMask = 0x402c40
	AttrOfDirdata    AttrMask = 0x8007f
)

// Attr holds the attributes of an object. Mask and Type say which are present.
type Attr struct {
	Owner, Group, Perms uint32 // perms: 0777, 02000 setgid, 04000 setuid
	ATime, MTime, CTime int64  // seconds since 1970
	Mask                AttrMask
	Type                ObjType

	Capability  Capability // AttrCapability
	StuffedSize int32      // a metafile without AttrUnstuffed

	Dist      Dist     // AttrDist
	Datafiles []Handle // AttrDatafiles
	Flags     uint64   // AttrDatafiles: 0x10 immutable, 0x20 append only, 0x80 no atime
	Copies    uint32   // AttrMirror
	Mirrors   []Handle // AttrMirror: Copies times as many as Datafiles

	DatafileSize int64  // AttrDatafileSize, bytes
	Target       string // AttrTarget

	DistDir     DistDir // AttrDistDir
	DirentCount int64   // AttrDirentCount or AttrDirHint
	Hint        DirHint // likewise
}

// DistDir says how a directory's entries are spread over objects.
type DistDir struct {
	TreeHeight  int32
	SplitSize   int32
	ServerNo    int32 // of a dirdata object: its own index
	BranchLevel int32
	Bitmap      []uint32 // bit b of word w: bucket 32*w+b is in use
	Dirdata     []Handle
}

// DirHint has the settings that new files of a directory inherit.
type DirHint struct {
	DistName, DistParams string
	Datafiles            uint32
	Layout               LayoutAlgorithm
	Servers              []string
	ServersBytes         int32 // size of the servers' buffer, as received; 0: the size that the text needs
}

// Dist says how a file's bytes are spread over its datafiles. Name determines which of the parameters are present.
type Dist struct {
	Name      string // DistStripe and so on
	StripSize int64  // simple_stripe and twod_stripe, bytes
	Strips    string // varstrip_dist
	Groups    uint32 // twod_stripe
	Factor    uint32 // twod_stripe
}

// The known distributions.
const (
	DistStripe  = "simple_stripe"
	DistBasic   = "basic_dist"
	DistVar     = "varstrip_dist"
	DistTwoD    = "twod_stripe"
	StripSize64 = 65536 // the default strip, bytes
)

// LayoutAlgorithm chooses the servers of a file's datafiles.
type LayoutAlgorithm int32

// The algorithms.
const (
	LayoutNone       LayoutAlgorithm = 1
	LayoutRoundRobin LayoutAlgorithm = 2
	LayoutRandom     LayoutAlgorithm = 3
	LayoutList       LayoutAlgorithm = 4
	LayoutLocal      LayoutAlgorithm = 5
)

// Layout chooses servers.
type Layout struct {
	Algorithm LayoutAlgorithm
	Servers   []string // bmi addresses, for LayoutList
}

// Extent is a range of handles, both ends included.
type Extent struct{ First, Last Handle }

// DirEntry is a name in a directory.
type DirEntry struct {
	Name   string
	Handle Handle
}

// ReqNode is one node of a file request, which describes the file's side of an I/O. It takes
// 80 bytes on the wire. Node 0 is the outermost.
type ReqNode struct {
	Offset     int64
	NumEreqs   int32
	NumBlocks  int32
	Stride     int64
	UpperBound int64
	LowerBound int64
	Aggregate  int64
	Chunks     int32
	Depth      int32
	Nested     int32
	Committed  int32 // negative: packed
	RefCount   int32
	Element    int32 // index of the element type's node, or -1
	Sequence   int32 // index of the next in the sequence, or -1
}

// FileRequest is a datatype over a file. It is tiled.
type FileRequest []ReqNode

// ByteStream is the file request of contiguous bytes.
func ByteStream() FileRequest {
	return FileRequest{{
		NumEreqs: 1, Stride: 1, UpperBound: 1, Aggregate: 1, Chunks: 1, Depth: 1,
		Committed: -1, RefCount: -1, Element: -1, Sequence: -1,
	}}
}

// IOType is the direction of an I/O.
type IOType int32

// The directions.
const (
	IORead  IOType = 1
	IOWrite IOType = 2
)

// FlowMultiqueue is the only flow type in use.
const FlowMultiqueue = 3
