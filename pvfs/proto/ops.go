package proto

// Op is the code of an operation.
type Op int32

// The operations.
const (
	OpCreate           Op = 1
	OpRemove           Op = 2
	OpIO               Op = 3
	OpGetAttr          Op = 4
	OpSetAttr          Op = 5
	OpLookupPath       Op = 6
	OpCrDirent         Op = 7
	OpRmDirent         Op = 8
	OpChDirent         Op = 9
	OpTruncate         Op = 10
	OpMkdir            Op = 11
	OpReadDir          Op = 12
	OpGetConfig        Op = 13
	OpWriteCompletion  Op = 14
	OpFlush            Op = 15
	OpSetParam         Op = 16
	OpNoop             Op = 17
	OpStatFS           Op = 18
	OpPerfMon          Op = 20
	OpIterateHandles   Op = 21
	OpDspaceInfo       Op = 22
	OpEventMon         Op = 23
	OpRemoveObject     Op = 24
	OpRemoveDirent     Op = 25
	OpGetDirdataHandle Op = 26
	OpProtoError       Op = 28
	OpGetEattr         Op = 29
	OpSetEattr         Op = 30
	OpDelEattr         Op = 31
	OpListEattr        Op = 32
	OpSmallIO          Op = 33
	OpListAttr         Op = 34
	OpBatchCreate      Op = 35
	OpBatchRemove      Op = 36
	OpUnstuff          Op = 38
	OpMirror           Op = 39
	OpImmCopies        Op = 40
	OpTreeRemove       Op = 41
	OpTreeGetFileSize  Op = 42
	OpGetUID           Op = 43
	OpTreeSetAttr      Op = 44
	OpGetDirent        Op = 45
	OpCreateRootDir    Op = 46
	OpSplitDirent      Op = 47
	OpAtomicEattr      Op = 48
	OpTreeGetAttr      Op = 49
	OpGetUserCert      Op = 50
	OpGetUserCertKey   Op = 51
)

// The bodies of requests and responses. Fields are in wire order as far as Go cares.
type (
	GetConfigReq  struct{}
	GetConfigResp struct{ Text string }

	LookupPathReq struct {
		Path  string
		FS    FSID
		Start Handle
		Mask  AttrMask
		Cred  Credential
	}
	LookupPathResp struct {
		Handles []Handle
		Attrs   []Attr // of the first so many handles
	}

	GetAttrReq struct {
		Handle Handle
		FS     FSID
		Mask   AttrMask
		Cred   Credential
	}
	GetAttrResp struct{ Attr Attr }

	ListAttrReq struct {
		FS      FSID
		Mask    AttrMask
		Handles []Handle
	}
	ListAttrResp struct {
		Status []Status
		Attrs  []Attr
	}

	SetAttrReq struct {
		Handle Handle
		FS     FSID
		Attr   Attr
		Cred   Credential
	}
	SetAttrResp struct{}

	CreateReq struct {
		FS        FSID
		Cred      Credential
		Attr      Attr
		Datafiles int32 // wanted
		Layout    Layout
	}
	CreateResp struct {
		Handle  Handle
		Stuffed bool
		Attr    Attr
	}

	MkdirReq struct {
		FS             FSID
		Cred           Credential
		Attr           Attr
		Extents        []Extent
		InitialServers int32
		MaxServers     int32
		SplitSize      int32
		Layout         Layout
	}
	MkdirResp struct {
		Handle     Handle
		Capability Capability
	}

	BatchCreateReq struct {
		FS      FSID
		Type    ObjType
		Count   uint32
		Extents []Extent
	}
	BatchCreateResp struct{ Handles []Handle }

	BatchRemoveReq struct {
		FS      FSID
		Handles []Handle
	}
	BatchRemoveResp struct{}

	RemoveReq struct {
		Handle Handle
		FS     FSID
		Cred   Credential
	}
	RemoveResp struct{}

	TreeRemoveReq struct {
		FS      FSID
		Cred    Credential
		Caller  uint32
		Handles []Handle
	}
	TreeRemoveResp struct {
		Caller uint32
		Status []Status
	}

	TreeGetFileSizeReq struct {
		FS      FSID
		Caller  uint32
		Retry   uint32
		Cred    Credential
		Handles []Handle
	}
	TreeGetFileSizeResp struct {
		Caller uint32
		Sizes  []int64
		Errors []Status
	}

	TreeGetAttrReq struct {
		FS      FSID
		Caller  uint32
		Retry   uint32
		Cred    Credential
		Mask    AttrMask
		Handles []Handle
	}
	TreeGetAttrResp struct {
		Caller uint32
		Attrs  []Attr
		Errors []Status
	}

	TreeSetAttrReq struct {
		FS      FSID
		Cred    Credential
		Type    ObjType
		Attr    Attr
		Caller  uint32
		Handles []Handle
	}
	TreeSetAttrResp struct {
		Caller uint32
		Status []Status
	}

	CrDirentReq struct {
		Cred    Credential
		Name    string
		New     Handle
		Dir     Handle
		Dirdata Handle
		FS      FSID
	}
	CrDirentResp struct{}

	RmDirentReq struct {
		Name    string
		Dirdata Handle
		FS      FSID
	}
	RmDirentResp struct{ Handle Handle }

	ChDirentReq struct {
		Name    string
		New     Handle
		Dirdata Handle
		FS      FSID
	}
	ChDirentResp struct{ Old Handle }

	ReadDirReq struct {
		Dirdata Handle
		FS      FSID
		Count   uint32
		Token   uint64
	}
	ReadDirResp struct {
		Token   uint64
		Version uint64
		Entries []DirEntry
	}

	UnstuffReq struct {
		Handle Handle
		FS     FSID
		Mask   AttrMask
		Cred   Credential
	}
	UnstuffResp struct{ Attr Attr }

	TruncateReq struct {
		Handle Handle
		FS     FSID
		Size   int64
		Flags  int32
	}
	TruncateResp struct{}

	FlushReq struct {
		Handle Handle
		FS     FSID
		Flags  int32
	}
	FlushResp struct{}

	StatFSReq  struct{ FS FSID }
	StatFSResp struct {
		FS                                      FSID
		BytesAvailable, BytesTotal              int64
		RAMTotal, RAMFree, Load1, Load5, Load15 uint64
		Uptime, HandlesAvailable, HandlesTotal  uint64
	}

	IOReq struct {
		Handle     Handle
		FS         FSID
		Type       IOType
		Flow       int32
		ServerNr   uint32 // index of the datafile
		ServerCt   uint32 // number of datafiles
		Dist       Dist
		Request    FileRequest
		FileOffset int64 // within the (tiled) file request
		Aggregate  int64 // bytes of the whole operation, over all datafiles
	}
	IOResp              struct{ Size int64 } // of the datafile's bytes, now
	WriteCompletionResp struct{ Written int64 }

	SmallIOReq struct {
		Handle     Handle
		FS         FSID
		Type       IOType
		ServerNr   uint32
		ServerCt   uint32
		Dist       Dist
		Request    FileRequest
		FileOffset int64
		Aggregate  int64
		Total      int64  // bytes of this datafile that are written; 0 for a read
		Data       []byte // a write's bytes; a view of the message when parsed
	}
	SmallIOResp struct {
		Type   IOType
		Size   int64  // of the datafile's bytes: before a write, now for a read
		Result int64  // bytes moved
		Data   []byte // a read's bytes; a view of the message when parsed
	}

	GetEattrReq struct {
		Handle Handle
		FS     FSID
		Keys   []string // each without its final zero, which the wire counts
		Sizes  []int64  // room for each value
	}
	GetEattrResp struct {
		Values [][]byte
		Errors []Status
	}

	SetEattrReq struct {
		Handle Handle
		FS     FSID
		Flags  int32 // 1: must be new, 2: must be there
		Keys   []string
		Values [][]byte
	}
	SetEattrResp struct{}

	DelEattrReq struct {
		Handle Handle
		FS     FSID
		Key    string
	}
	DelEattrResp struct{}

	ListEattrReq struct {
		Handle Handle
		FS     FSID
		Token  uint64
		Sizes  []int64 // room for each key
	}
	ListEattrResp struct {
		Token uint64
		Keys  []string
	}

	AtomicEattrReq struct {
		Handle Handle
		FS     FSID
		Flags  int32
		Opcode int32
		Keys   []string
		Values [][]byte
		Sizes  []int64
	}
	AtomicEattrResp struct {
		Values [][]byte
		Errors []Status
	}

	NoopReq  struct{}
	NoopResp struct{}

	SetParamReq struct {
		FS    FSID
		Param Param
		Type  int32 // 0: Value, 1: Text
		Value uint64
		Text  string
	}
	SetParamResp struct{}

	IterateHandlesReq struct {
		FS       FSID
		Count    int32
		Flags    int32 // 1: reserved handles
		Position uint64
	}
	IterateHandlesResp struct {
		Position uint64
		Handles  []Handle
	}

	DspaceInfoReq struct {
		FS      FSID
		Handles []Handle
	}
	DspaceInfo struct {
		Error   Status
		Handle  Handle
		Type    ObjType
		Size    int64
		Dirdata Handle
	}
	DspaceInfoResp struct{ Infos []DspaceInfo }

	PerfMonReq  struct{ Type, NextID, KeyCount, SampleCount uint32 }
	PerfMonResp struct {
		KeyCount, NextID uint32
		End, Now         uint64 // ms
		SampleCount      uint32
		Values           []int64
	}

	EventMonReq struct{ Count uint32 }
	MgmtEvent   struct {
		API, Op   int32
		Value, ID int64
		Flags     int32
		S, US     int32
	}
	EventMonResp struct{ Events []MgmtEvent }

	RemoveObjectReq struct {
		Handle Handle
		FS     FSID
	}
	RemoveObjectResp struct{}

	RemoveDirentReq struct {
		Dirdata Handle
		FS      FSID
		Name    string
	}
	RemoveDirentResp struct{}

	GetDirdataHandleReq struct {
		Handle Handle
		FS     FSID
	}
	GetDirdataHandleResp struct{ Handle Handle }

	GetDirentReq struct {
		Dirdata Handle
		FS      FSID
		Name    string
	}
	GetDirentResp struct {
		Handle Handle
		Error  Status
	}

	CreateRootDirReq struct {
		Handle Handle
		FS     FSID
	}
	CreateRootDirResp struct{}

	GetUIDReq  struct{ History uint32 } // seconds
	UIDHistory struct {
		UID     uint32
		Count   uint64
		FirstS  uint64
		FirstUS uint32
		LastS   uint64
		LastUS  uint32
	}
	GetUIDResp struct{ Users []UIDHistory }

	SplitDirentReq struct {
		FS      FSID
		Dirdata Handle
		Dist    Dist
		Undo    int32
		Handles []Handle
		Names   []string
	}
	SplitDirentResp struct{}

	MirrorCopy struct {
		Handle Handle
		Index  uint32
	}
	MirrorReq struct {
		Source   Handle
		FS       FSID
		Dist     Dist
		Block    uint32
		ServerNr uint32
		Flow     int32
		Encoding int32
		Copies   []MirrorCopy
	}
	MirrorResult struct {
		Bytes  uint32
		Status Status
	}
	MirrorResp struct {
		Source   Handle
		ServerNr uint32
		Results  []MirrorResult
	}

	ImmCopiesReq  struct{}
	ImmCopiesResp struct{}

	ProtoErrorResp struct{}
)

// Param is what MGMT_SETPARAM sets.
type Param int32

// The parameters.
const (
	ParamDebug       Param = 1
	ParamFSID        Param = 2
	ParamRootHandle  Param = 3
	ParamMode        Param = 4 // 1 normal, 2 admin
	ParamPerfHistory Param = 5
	ParamPerfSample  Param = 6
	ParamEventOn     Param = 7
	ParamEventOff    Param = 8
	ParamSyncMeta    Param = 9
	ParamSyncData    Param = 10
	ParamDropCaches  Param = 11
	ParamNoTimeouts  Param = 12
)
