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

// An operation has a name, functions that make its empty bodies (nil for none), and the largest encodings of both, in bytes, as
// stock programs count them. Those of REMOVE, RMDIRENT and MGMT_NOOP have room for a RemovedMark.
type operation struct {
	name     string
	request  func() Request
	response func() Response
	maxReq   int
	maxResp  int
}

var operations = [...]operation{
	OpCreate:           {"CREATE", request[CreateReq], response[CreateResp], 56992, 34512},
	OpRemove:           {"REMOVE", request[RemoveReq], response[RemoveResp], 9432, 24},
	OpIO:               {"IO", request[IOReq], response[IOResp], 22424, 24},
	OpGetAttr:          {"GETATTR", request[GetAttrReq], response[GetAttrResp], 18400, 34500},
	OpSetAttr:          {"SETATTR", request[SetAttrReq], response[SetAttrResp], 52884, 16},
	OpLookupPath:       {"LOOKUP_PATH", request[LookupPathReq], response[LookupPathResp], 22512, 8224},
	OpCrDirent:         {"CRDIRENT", request[CrDirentReq], response[CrDirentResp], 9724, 16},
	OpRmDirent:         {"RMDIRENT", request[RmDirentReq], response[RmDirentResp], 9656, 32},
	OpChDirent:         {"CHDIRENT", request[ChDirentReq], response[ChDirentResp], 9664, 24},
	OpTruncate:         {"TRUNCATE", request[TruncateReq], response[TruncateResp], 9400, 16},
	OpMkdir:            {"MKDIR", request[MkdirReq], response[MkdirResp], 69296, 8896},
	OpReadDir:          {"READDIR", request[ReadDirReq], response[ReadDirResp], 9400, 139304},
	OpGetConfig:        {"GETCONFIG", request[GetConfigReq], response[GetConfigResp], 9372, 65568},
	OpWriteCompletion:  {"WRITE_COMPLETION", nil, response[WriteCompletionResp], 0, 24},
	OpFlush:            {"FLUSH", request[FlushReq], response[FlushResp], 9388, 16},
	OpSetParam:         {"MGMT_SETPARAM", request[SetParamReq], response[SetParamResp], 9392, 16},
	OpNoop:             {"MGMT_NOOP", request[NoopReq], response[NoopResp], 9372, 24},
	OpStatFS:           {"STATFS", request[StatFSReq], response[StatFSResp], 9376, 104},
	OpPerfMon:          {"MGMT_PERF_MON", request[PerfMonReq], response[PerfMonResp], 9388, 8240},
	OpIterateHandles:   {"MGMT_ITERATE_HANDLES", request[IterateHandlesReq], response[IterateHandlesResp], 9392, 8224},
	OpDspaceInfo:       {"MGMT_DSPACE_INFO_LIST", request[DspaceInfoReq], response[DspaceInfoResp], 17572, 40984},
	OpEventMon:         {"MGMT_EVENT_MON", request[EventMonReq], response[EventMonResp], 9376, 81944},
	OpRemoveObject:     {"MGMT_REMOVE_OBJECT", request[RemoveObjectReq], response[RemoveObjectResp], 9384, 16},
	OpRemoveDirent:     {"MGMT_REMOVE_DIRENT", request[RemoveDirentReq], response[RemoveDirentResp], 9660, 16},
	OpGetDirdataHandle: {"MGMT_GET_DIRDATA_HANDLE", request[GetDirdataHandleReq], response[GetDirdataHandleResp], 9384, 24},
	OpProtoError:       {"PROTO_ERROR", nil, response[ProtoErrorResp], 9372, 16},
	OpGetEattr:         {"GETEATTR", request[GetEattrReq], response[GetEattrResp], 9772, 131160},
	OpSetEattr:         {"SETEATTR", request[SetEattrReq], response[SetEattrResp], 144564, 16},
	OpDelEattr:         {"DELEATTR", request[DelEattrReq], response[DelEattrResp], 9648, 16},
	OpListEattr:        {"LISTEATTR", request[ListEattrReq], response[ListEattrResp], 9528, 4128},
	OpSmallIO:          {"SMALL_IO", request[SmallIOReq], response[SmallIOResp], 25916, 16424},
	OpListAttr:         {"LISTATTR", request[ListAttrReq], response[ListAttrResp], 9868, 2066424},
	OpBatchCreate:      {"BATCH_CREATE", request[BatchCreateReq], response[BatchCreateResp], 25780, 65560},
	OpBatchRemove:      {"BATCH_REMOVE", request[BatchRemoveReq], response[BatchRemoveResp], 17572, 16},
	OpUnstuff:          {"UNSTUFF", request[UnstuffReq], response[UnstuffResp], 18400, 34500},
	OpMirror:           {"MIRROR", request[MirrorReq], response[MirrorResp], 21708, 8224},
	OpImmCopies:        {"IMM_COPIES", request[ImmCopiesReq], response[ImmCopiesResp], 9372, 16},
	OpTreeRemove:       {"TREE_REMOVE", request[TreeRemoveReq], response[TreeRemoveResp], 17624, 4124},
	OpTreeGetFileSize:  {"TREE_GET_FILE_SIZE", request[TreeGetFileSizeReq], response[TreeGetFileSizeResp], 26588, 12312},
	OpGetUID:           {"MGMT_GET_UID", request[GetUIDReq], response[GetUIDResp], 9376, 1224},
	OpTreeSetAttr:      {"TREE_SETATTR", request[TreeSetAttrReq], response[TreeSetAttrResp], 52112, 4124},
	OpGetDirent:        {"MGMT_GET_DIRENT", request[GetDirentReq], response[GetDirentResp], 9656, 28},
	OpCreateRootDir:    {"MGMT_CREATE_ROOT_DIR", request[CreateRootDirReq], response[CreateRootDirResp], 9384, 16},
	OpSplitDirent:      {"MGMT_SPLIT_DIRENT", request[SplitDirentReq], response[SplitDirentResp], 287940, 16},
	OpAtomicEattr:      {"ATOMICEATTR", request[AtomicEattrReq], response[AtomicEattrResp], 144692, 131160},
	OpTreeGetAttr:      {"TREE_GETATTR", request[TreeGetAttrReq], response[TreeGetAttrResp], 26592, 8216},
	OpGetUserCert:      {"MGMT_GET_USER_CERT", request[GetUserCertReq], response[GetUserCertResp], 26300, 8216},
	OpGetUserCertKey:   {"MGMT_GET_USER_CERT_KEYREQ", request[GetUserCertKeyReq], response[GetUserCertKeyResp], 9376, 8216},
}

func request[T any, P interface {
	*T
	Request
}]() Request {
	return P(new(T))
}

func response[T any, P interface {
	*T
	Response
}]() Response {
	return P(new(T))
}

// operation is the table's entry for an operation; all zero for an unknown one.
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

// MaxRequest is the largest encoding of a request, in bytes, as stock programs count it; 0 for an unknown operation. At most
// MaxUnexpected bytes can be sent.
func MaxRequest(op Op) int { return op.operation().maxReq }

// MaxResponse is the largest encoding of a response, in bytes: the size of its receive buffer. It is 0 for an unknown operation.
func MaxResponse(op Op) int { return op.operation().maxResp }
