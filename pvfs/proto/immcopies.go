package proto

// ImmCopiesReq requests copies of a file at once. No program sends it.
type ImmCopiesReq struct{}

// Op is OpImmCopies.
func (*ImmCopiesReq) Op() Op { return OpImmCopies }

func (*ImmCopiesReq) String() string { return "REQ IMM_COPIES" }

// Append is AppendRequest.
func (q *ImmCopiesReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *ImmCopiesReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (*ImmCopiesReq) append(*writer) {}

func (*ImmCopiesReq) parse(*reader) {}

// ImmCopiesResp is empty.
type ImmCopiesResp struct{}

// Op is OpImmCopies.
func (*ImmCopiesResp) Op() Op { return OpImmCopies }

func (*ImmCopiesResp) String() string { return "RESP IMM_COPIES" }

// Append is AppendResponse.
func (p *ImmCopiesResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *ImmCopiesResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*ImmCopiesResp) append(*writer) {}

func (*ImmCopiesResp) parse(*reader) {}
