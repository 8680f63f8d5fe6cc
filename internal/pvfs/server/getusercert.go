package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// certOps are the operations by which users get certificates. They need no capability, because a user without a certificate has
// none.
var certOps = map[proto.Op]*operation{
	proto.OpGetUserCertKey: reads(on((*Server).getUserCertKey)),
	proto.OpGetUserCert:    reads(on((*Server).getUserCert)),
}

// errPasswords is for a host that has sent too many wrong passwords.
var errPasswords = errors.New("the host has sent too many wrong passwords")

// issuer returns the authority that issues certificates. ENOSYS: this server issues none.
func (q *query) issuer() (*certUsers, error) {
	u := q.rules.certs
	if u == nil || u.directory == nil || !u.authority.Issues() {
		return nil, proto.ENOSYS
	}
	return u, nil
}

// getUserCertKey returns the public key for encrypting passwords.
func (s *Server) getUserCertKey(q *query, _ *proto.GetUserCertKeyReq) (*proto.GetUserCertKeyResp, error) {
	u, err := q.issuer()
	if err != nil {
		return nil, err
	}
	return &proto.GetUserCertKeyResp{Key: u.authority.PublicKey()}, nil
}

// getUserCert issues a certificate for a user whose password is right. EACCES: the password is wrong, or there is no such user.
// EAGAIN: the directory does not answer, or the client's host has to wait. EINVAL: the request has no usable key.
func (s *Server) getUserCert(q *query, req *proto.GetUserCertReq) (*proto.GetUserCertResp, error) {
	u, err := q.issuer()
	if err != nil {
		return nil, err
	}
	from := s.origin(q.peer)
	host := rpc.HostOf(from)
	if !u.guesses.may(host) {
		_ = s.refused(errPasswords, from, "user", req.User)
		return nil, proto.EAGAIN
	}
	select {
	case u.logins <- struct{}{}:
		defer func() { <-u.logins }()
	default:
		u.guesses.right(host)
		return nil, proto.EAGAIN
	}
	if err := s.checkPassword(q, u, req, from); err != nil {
		return nil, err
	}
	u.guesses.right(host)
	key, err := u.authority.OpenKey(req.Key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", proto.EINVAL, err)
	}
	wish := usercert.Wish{Name: req.User, Key: key, Prefix: u.prefix, Valid: u.valid}
	if req.Days > 0 {
		wish.Valid = min(wish.Valid, time.Duration(req.Days)*24*time.Hour)
	}
	cert, err := u.authority.Issue(wish, s.clock())
	if err != nil {
		s.log.Warn("a certificate was not issued", "user", req.User, "client", from, "err", err)
		return nil, fmt.Errorf("%w: %w", proto.EINVAL, err)
	}
	s.issued.Add(1)
	s.log.Info("a certificate was issued", "user", req.User, "client", from)
	return &proto.GetUserCertResp{Certificate: cert}, nil
}

// checkPassword asks the directory about the password in a request. The client gets the same error in all cases: it must show
// neither which users exist, nor whether a message was encrypted correctly.
func (s *Server) checkPassword(q *query, u *certUsers, req *proto.GetUserCertReq, from string) error {
	password, err := u.authority.OpenPassword(req.Password)
	if err == nil {
		err = usercert.CheckName(req.User)
	}
	if err == nil {
		err = u.directory.Authenticate(q.ctx, req.User, password)
	}
	switch {
	case err == nil:
		return nil
	case lacks(err), errors.Is(err, ldapusers.ErrPassword), errors.Is(err, usercert.ErrSealed), usercert.CheckName(req.User) != nil:
		_ = s.refused(err, from, "user", req.User)
		return proto.EACCES
	}
	u.guesses.right(rpc.HostOf(from))
	_ = s.refused(fmt.Errorf("%w: %w", errDirectory, err), from, "user", req.User)
	return proto.EAGAIN
}
