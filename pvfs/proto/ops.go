package proto

import "fmt"

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

// An operation: its name, makers of its empty bodies, nil for none, and the largest encodings
// of both, in bytes, as stock programs count them.
type operation struct {
	name     string
	request  func() Request
	response func() Response
	maxReq   int
	maxResp  int
}

var operations = [...]operation{
	OpCreate:           {"CREATE", func() Request { return new(CreateReq) }, func() Response { return new(CreateResp) }, 56992, 34512},
	OpRemove:           {"REMOVE", func() Request { return new(RemoveReq) }, func() Response { return new(RemoveResp) }, 9432, 16},
	OpIO:               {"IO", func() Request { return new(IOReq) }, func() Response { return new(IOResp) }, 22424, 24},
	OpGetAttr:          {"GETATTR", func() Request { return new(GetAttrReq) }, func() Response { return new(GetAttrResp) }, 18400, 34500},
	OpSetAttr:          {"SETATTR", func() Request { return new(SetAttrReq) }, func() Response { return new(SetAttrResp) }, 52884, 16},
	OpLookupPath:       {"LOOKUP_PATH", func() Request { return new(LookupPathReq) }, func() Response { return new(LookupPathResp) }, 22512, 8224},
	OpCrDirent:         {"CRDIRENT", func() Request { return new(CrDirentReq) }, func() Response { return new(CrDirentResp) }, 9724, 16},
	OpRmDirent:         {"RMDIRENT", func() Request { return new(RmDirentReq) }, func() Response { return new(RmDirentResp) }, 9656, 24},
	OpChDirent:         {"CHDIRENT", func() Request { return new(ChDirentReq) }, func() Response { return new(ChDirentResp) }, 9664, 24},
	OpTruncate:         {"TRUNCATE", func() Request { return new(TruncateReq) }, func() Response { return new(TruncateResp) }, 9400, 16},
	OpMkdir:            {"MKDIR", func() Request { return new(MkdirReq) }, func() Response { return new(MkdirResp) }, 69296, 8896},
	OpReadDir:          {"READDIR", func() Request { return new(ReadDirReq) }, func() Response { return new(ReadDirResp) }, 9400, 139304},
	OpGetConfig:        {"GETCONFIG", func() Request { return new(GetConfigReq) }, func() Response { return new(GetConfigResp) }, 9372, 65568},
	OpWriteCompletion:  {"WRITE_COMPLETION", nil, func() Response { return new(WriteCompletionResp) }, 0, 24},
	OpFlush:            {"FLUSH", func() Request { return new(FlushReq) }, func() Response { return new(FlushResp) }, 9388, 16},
	OpSetParam:         {"MGMT_SETPARAM", func() Request { return new(SetParamReq) }, func() Response { return new(SetParamResp) }, 9392, 16},
	OpNoop:             {"MGMT_NOOP", func() Request { return new(NoopReq) }, func() Response { return new(NoopResp) }, 9372, 16},
	OpStatFS:           {"STATFS", func() Request { return new(StatFSReq) }, func() Response { return new(StatFSResp) }, 9376, 104},
	OpPerfMon:          {"MGMT_PERF_MON", func() Request { return new(PerfMonReq) }, func() Response { return new(PerfMonResp) }, 9388, 8240},
	OpIterateHandles:   {"MGMT_ITERATE_HANDLES", func() Request { return new(IterateHandlesReq) }, func() Response { return new(IterateHandlesResp) }, 9392, 8224},
	OpDspaceInfo:       {"MGMT_DSPACE_INFO_LIST", func() Request { return new(DspaceInfoReq) }, func() Response { return new(DspaceInfoResp) }, 17572, 40984},
	OpEventMon:         {"MGMT_EVENT_MON", func() Request { return new(EventMonReq) }, func() Response { return new(EventMonResp) }, 9376, 81944},
	OpRemoveObject:     {"MGMT_REMOVE_OBJECT", func() Request { return new(RemoveObjectReq) }, func() Response { return new(RemoveObjectResp) }, 9384, 16},
	OpRemoveDirent:     {"MGMT_REMOVE_DIRENT", func() Request { return new(RemoveDirentReq) }, func() Response { return new(RemoveDirentResp) }, 9660, 16},
	OpGetDirdataHandle: {"MGMT_GET_DIRDATA_HANDLE", func() Request { return new(GetDirdataHandleReq) }, func() Response { return new(GetDirdataHandleResp) }, 9384, 24},
	OpProtoError:       {"PROTO_ERROR", nil, func() Response { return new(ProtoErrorResp) }, 9372, 16},
	OpGetEattr:         {"GETEATTR", func() Request { return new(GetEattrReq) }, func() Response { return new(GetEattrResp) }, 9772, 131160},
	OpSetEattr:         {"SETEATTR", func() Request { return new(SetEattrReq) }, func() Response { return new(SetEattrResp) }, 144564, 16},
	OpDelEattr:         {"DELEATTR", func() Request { return new(DelEattrReq) }, func() Response { return new(DelEattrResp) }, 9648, 16},
	OpListEattr:        {"LISTEATTR", func() Request { return new(ListEattrReq) }, func() Response { return new(ListEattrResp) }, 9528, 4128},
	OpSmallIO:          {"SMALL_IO", func() Request { return new(SmallIOReq) }, func() Response { return new(SmallIOResp) }, 25916, 16424},
	OpListAttr:         {"LISTATTR", func() Request { return new(ListAttrReq) }, func() Response { return new(ListAttrResp) }, 9868, 2066424},
	OpBatchCreate:      {"BATCH_CREATE", func() Request { return new(BatchCreateReq) }, func() Response { return new(BatchCreateResp) }, 25780, 65560},
	OpBatchRemove:      {"BATCH_REMOVE", func() Request { return new(BatchRemoveReq) }, func() Response { return new(BatchRemoveResp) }, 17572, 16},
	OpUnstuff:          {"UNSTUFF", func() Request { return new(UnstuffReq) }, func() Response { return new(UnstuffResp) }, 18400, 34500},
	OpMirror:           {"MIRROR", func() Request { return new(MirrorReq) }, func() Response { return new(MirrorResp) }, 21708, 8224},
	OpImmCopies:        {"IMM_COPIES", func() Request { return new(ImmCopiesReq) }, func() Response { return new(ImmCopiesResp) }, 9372, 16},
	OpTreeRemove:       {"TREE_REMOVE", func() Request { return new(TreeRemoveReq) }, func() Response { return new(TreeRemoveResp) }, 17624, 4124},
	OpTreeGetFileSize:  {"TREE_GET_FILE_SIZE", func() Request { return new(TreeGetFileSizeReq) }, func() Response { return new(TreeGetFileSizeResp) }, 26588, 12312},
	OpGetUID:           {"MGMT_GET_UID", func() Request { return new(GetUIDReq) }, func() Response { return new(GetUIDResp) }, 9376, 1224},
	OpTreeSetAttr:      {"TREE_SETATTR", func() Request { return new(TreeSetAttrReq) }, func() Response { return new(TreeSetAttrResp) }, 52112, 4124},
	OpGetDirent:        {"MGMT_GET_DIRENT", func() Request { return new(GetDirentReq) }, func() Response { return new(GetDirentResp) }, 9656, 28},
	OpCreateRootDir:    {"MGMT_CREATE_ROOT_DIR", func() Request { return new(CreateRootDirReq) }, func() Response { return new(CreateRootDirResp) }, 9384, 16},
	OpSplitDirent:      {"MGMT_SPLIT_DIRENT", func() Request { return new(SplitDirentReq) }, func() Response { return new(SplitDirentResp) }, 287940, 16},
	OpAtomicEattr:      {"ATOMICEATTR", func() Request { return new(AtomicEattrReq) }, func() Response { return new(AtomicEattrResp) }, 144692, 131160},
	OpTreeGetAttr:      {"TREE_GETATTR", func() Request { return new(TreeGetAttrReq) }, func() Response { return new(TreeGetAttrResp) }, 26592, 8216},
	OpGetUserCert:      {"MGMT_GET_USER_CERT", nil, nil, 26300, 8216},
	OpGetUserCertKey:   {"MGMT_GET_USER_CERT_KEYREQ", nil, nil, 9376, 8216},
}

// operation is what there is to know of an operation; all zero for an unknown one.
func (op Op) operation() operation {
	if op < 0 || int(op) >= len(operations) {
		return operation{}
	}
	return operations[op]
}

func (op Op) String() string {
	if name := op.operation().name; name != "" {
		return name
	}
	return fmt.Sprintf("Op(%d)", int32(op))
}

// NewRequest is an empty request of an operation; nil if there is none.
func NewRequest(op Op) Request {
	if make := op.operation().request; make != nil {
		return make()
	}
	return nil
}

// NewResponse is an empty response of an operation; nil if there is none.
func NewResponse(op Op) Response {
	if make := op.operation().response; make != nil {
		return make()
	}
	return nil
}

// MaxRequest is the largest encoding of a request, in bytes, as stock programs count it; 0
// for an unknown operation. No more than MaxUnexpected bytes can be sent.
func MaxRequest(op Op) int { return op.operation().maxReq }

// MaxResponse is the largest encoding of a response, in bytes: what its receive is posted
// with. It is 0 for an unknown operation.
func MaxResponse(op Op) int { return op.operation().maxResp }
