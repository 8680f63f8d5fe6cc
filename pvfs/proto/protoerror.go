package proto

// ProtoErrorResp answers a request that could not be decoded. Its status is never 0.
type ProtoErrorResp struct{}

// Op is OpProtoError.
func (*ProtoErrorResp) Op() Op { return OpProtoError }

func (*ProtoErrorResp) String() string { return "RESP PROTO_ERROR" }

// Append is AppendResponse.
func (p *ProtoErrorResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *ProtoErrorResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (*ProtoErrorResp) append(*writer) {}

func (*ProtoErrorResp) parse(*reader) {}
