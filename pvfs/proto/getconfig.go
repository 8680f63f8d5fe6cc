package proto

import "fmt"

// GetConfigReq asks for the configuration of the file system and its servers.
type GetConfigReq struct{}

// Op is OpGetConfig.
func (*GetConfigReq) Op() Op { return OpGetConfig }

func (*GetConfigReq) String() string { return "REQ GETCONFIG" }

// Append is AppendRequest.
func (q *GetConfigReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetConfigReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (*GetConfigReq) append(*writer) {}

func (*GetConfigReq) parse(*reader) {}

// GetConfigResp has the text of the configuration, as in the server's file.
type GetConfigResp struct{ Text string }

// Op is OpGetConfig.
func (*GetConfigResp) Op() Op { return OpGetConfig }

func (p *GetConfigResp) String() string {
	return fmt.Sprintf("RESP GETCONFIG text=%d bytes",
		len(p.Text))
}

// Append is AppendResponse.
func (p *GetConfigResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetConfigResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetConfigResp) append(w *writer) {
	w.count(len(p.Text) + 1)
	w.skip4()
	w.str(p.Text)
}

func (p *GetConfigResp) parse(r *reader) {
	r.u32("size")
	r.skip4()
	p.Text = r.str("text", MaxConfig)
}
