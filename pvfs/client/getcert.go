package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// userKeyBits is the length of the keys of new certificates.
const userKeyBits = 2048

// CertificateRequest is a user's request for a certificate.
type CertificateRequest struct {
	Name, Password string
	Days           uint32 // validity; the server limits it, and chooses it if this is 0
	// Authority has the key that the password is encrypted for. nil trusts the key that the server sends, which an attacker in
	// the network could replace.
	Authority *usercert.Authority
}

// errOtherAuthority is for a server, or an attacker in the network, with another key.
var errOtherAuthority = errors.New("the key of the server is not that of the authority: the password was not sent")

// GetCertificate gets a new certificate for a user from the first server that answers. The private key is made here and never
// leaves this process. proto.EACCES: the name or the password is wrong. proto.ENOSYS: the servers issue no certificates.
func (f *FS) GetCertificate(ctx context.Context, req CertificateRequest) (*usercert.Certificate, *credential.Key, error) {
	var all []error
	for i := range f.servers {
		var resp proto.GetUserCertKeyResp
		err := f.send(ctx, i, nil, &proto.GetUserCertKeyReq{FS: f.cfg.ID}, &resp)
		if err == nil {
			cert, key, err := f.getCertificate(ctx, i, resp.Key, req)
			if err != nil {
				return nil, nil, fmt.Errorf("pvfs: get a certificate for %s from server %s: %w", req.Name, f.servers[i].alias, err)
			}
			return cert, key, nil
		}
		all = append(all, fmt.Errorf("pvfs: server %s: %w", f.servers[i].alias, err))
		if !passing(err) {
			break
		}
	}
	return nil, nil, errors.Join(all...)
}

// getCertificate gets a certificate from one server. public is the key that the server sent.
func (f *FS) getCertificate(ctx context.Context, server int, public []byte, req CertificateRequest) (*usercert.Certificate, *credential.Key, error) {
	to, err := usercert.ParsePublicKey(public)
	if err != nil {
		return nil, nil, err
	}
	if req.Authority != nil && !req.Authority.IsKeyOf(to) {
		return nil, nil, errOtherAuthority
	}
	key, err := credential.GenerateKey(userKeyBits)
	if err != nil {
		return nil, nil, err
	}
	ask := &proto.GetUserCertReq{FS: f.cfg.ID, User: req.Name, Days: req.Days}
	if ask.Password, err = usercert.SealPassword(to, req.Password); err != nil {
		return nil, nil, err
	}
	if ask.Key, err = usercert.SealKey(to, &key.RSA().PublicKey); err != nil {
		return nil, nil, err
	}
	var resp proto.GetUserCertResp
	if err := f.send(ctx, server, nil, ask, &resp); err != nil {
		return nil, nil, err
	}
	cert, err := usercert.New(resp.Certificate, key)
	if err == nil && req.Authority != nil {
		_, err = req.Authority.Verify(resp.Certificate, f.opt.Clock())
	}
	if err == nil && cert.Name() != req.Name {
		err = fmt.Errorf("the certificate is for %q", cert.Name())
	}
	return cert, key, err
}
