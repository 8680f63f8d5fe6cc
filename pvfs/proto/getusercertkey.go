package proto

import "fmt"

// maxPublicKey limits a public key in a response, bytes (PVFS_REQ_LIMIT_SECURITY_KEY).
const maxPublicKey = 8192

// GetUserCertKeyReq requests the public key of the authority that signs certificates of users.
type GetUserCertKeyReq struct{ FS FSID }

// Op is OpGetUserCertKey.
func (*GetUserCertKeyReq) Op() Op { return OpGetUserCertKey }

func (q *GetUserCertKeyReq) String() string {
	return fmt.Sprintf("REQ MGMT_GET_USER_CERT_KEYREQ fs=%d", q.FS)
}

// Append is AppendRequest.
func (q *GetUserCertKeyReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetUserCertKeyReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetUserCertKeyReq) append(w *writer) { w.fs(q.FS) }

func (q *GetUserCertKeyReq) parse(r *reader) { q.FS = r.fs() }

// GetUserCertKeyResp has the key, an RSAPublicKey of PKCS #1 in DER.
type GetUserCertKeyResp struct{ Key []byte }

// Op is OpGetUserCertKey.
func (*GetUserCertKeyResp) Op() Op { return OpGetUserCertKey }

func (p *GetUserCertKeyResp) String() string {
	return fmt.Sprintf("RESP MGMT_GET_USER_CERT_KEYREQ key=%d bytes", len(p.Key))
}

// Append is AppendResponse.
func (p *GetUserCertKeyResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetUserCertKeyResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetUserCertKeyResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Key))
	w.bytes(p.Key)
}

func (p *GetUserCertKeyResp) parse(r *reader) {
	r.skip4()
	p.Key = r.blob("public key", maxPublicKey)
}
