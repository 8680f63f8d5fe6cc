package proto

// NoopReq checks that a server answers.
type NoopReq struct{}

// Op is OpNoop.
func (*NoopReq) Op() Op { return OpNoop }

func (*NoopReq) String() string { return "REQ MGMT_NOOP" }

// Append is AppendRequest.
func (q *NoopReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *NoopReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (*NoopReq) append(*writer) {}

func (*NoopReq) parse(*reader) {}

// NoopResp is empty.
type NoopResp struct{}

// Op is OpNoop.
func (*NoopResp) Op() Op { return OpNoop }

func (*NoopResp) String() string { return "RESP MGMT_NOOP" }

// Append is AppendResponse.
func (p *NoopResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *NoopResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*NoopResp) append(*writer) {}

func (*NoopResp) parse(*reader) {}
