package proto

import (
	"bytes"
	"fmt"
)

// Limits of a request for a certificate, bytes (PVFS_REQ_LIMIT_USERID_PWD and PVFS_REQ_LIMIT_ENC_KEY).
const (
	MaxUserName  = 255
	maxPassword  = 1024 // of the ciphertext: one block of the authority's key
	maxSealedKey = 16384
)

// GetUserCertReq requests a certificate. It has the name of the user, the password, the user's new key in the form of a private
// key, and the validity in days (0: the server chooses). Password and key are encrypted for the authority's key, see
// GetUserCertKeyReq.
type GetUserCertReq struct {
	FS       FSID
	User     string
	Password []byte
	Key      []byte
	Days     uint32
}

// Op is OpGetUserCert.
func (*GetUserCertReq) Op() Op { return OpGetUserCert }

func (q *GetUserCertReq) String() string {
	return fmt.Sprintf("REQ MGMT_GET_USER_CERT fs=%d user=%q password=%d bytes key=%d bytes days=%d",
		q.FS, q.User, len(q.Password), len(q.Key), q.Days)
}

// Append is AppendRequest.
func (q *GetUserCertReq) Append(b []byte, h *Header) []byte { return AppendRequest(b, h, q) }

// Parse is ParseRequest for a message of this operation.
func (q *GetUserCertReq) Parse(b []byte) (*Header, error) { return parseRequest(b, q) }

func (q *GetUserCertReq) append(w *writer) {
	w.fs(q.FS)
	w.str(q.User)
	w.i64(int64(len(q.Password)))
	w.bytes(q.Password)
	w.i64(int64(len(q.Key)))
	w.bytes(q.Key)
	w.u32(q.Days)
}

func (q *GetUserCertReq) parse(r *reader) {
	q.FS = r.fs()
	q.User = r.str("user name", MaxUserName)
	q.Password = r.sized("password", maxPassword)
	q.Key = r.sized("private key", maxSealedKey)
	q.Days = r.u32("days")
}

// sized parses a length of 8 bytes, at most limit, and that many bytes.
func (r *reader) sized(field string, limit int) []byte {
	at := r.off
	n := r.i64(field)
	if r.err == nil && (n < 0 || n > int64(limit)) {
		r.off = at
		r.fail(ErrMalformed, field, "%d bytes, the limit is %d", n, limit)
	}
	if r.err != nil || n == 0 {
		return nil
	}
	return bytes.Clone(r.take(field, int(n)))
}

// GetUserCertResp has the certificate, in DER.
type GetUserCertResp struct{ Certificate []byte }

// Op is OpGetUserCert.
func (*GetUserCertResp) Op() Op { return OpGetUserCert }

func (p *GetUserCertResp) String() string {
	return fmt.Sprintf("RESP MGMT_GET_USER_CERT certificate=%d bytes", len(p.Certificate))
}

// Append is AppendResponse.
func (p *GetUserCertResp) Append(b []byte) []byte { return AppendResponse(b, p) }

// Parse is ParseResponse.
func (p *GetUserCertResp) Parse(b []byte) error { return ParseResponse(b, p) }

func (p *GetUserCertResp) append(w *writer) {
	w.skip4()
	w.count(len(p.Certificate))
	w.bytes(p.Certificate)
}

func (p *GetUserCertResp) parse(r *reader) {
	r.skip4()
	p.Certificate = r.blob("certificate", maxCertificate)
}
