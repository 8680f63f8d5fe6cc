package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// status is the proto.Status in an error, without the class bits that stock servers may add; OK if there is none.
func status(err error) proto.Status {
	var s proto.Status
	if errors.As(err, &s) {
		return s.Base()
	}
	return proto.OK
}

// ErrAuthentication: the servers do not let this client act for the user. See Options.Key and Options.Certificate.
var ErrAuthentication = errors.New("authentication failed")

// errOtherKey is for a capability that one server signed and another refuses.
var errOtherKey = errors.New("a server does not accept the signature of another one: do all have the same key (pvfsd serve --key-file)?")

// authenticated adds a reason to an error that does not come from missing rights: the user was not authenticated, or servers
// refuse each other.
func (c *core) authenticated(req proto.Request, err error) error {
	switch status(err) {
	case proto.ESECURITY:
		return fmt.Errorf("%w: %w", err, errOtherKey)
	case proto.EPERM:
	default:
		return err
	}
	var cred *proto.Credential
	switch req := req.(type) {
	case *proto.GetAttrReq:
		cred = &req.Cred
	case *proto.LookupPathReq:
		cred = &req.Cred
	default:
		return err
	}
	switch {
	case len(cred.Certificate) > 0:
		return fmt.Errorf("%w: %w: the servers do not accept the certificate of this user, or do not know the user", err, ErrAuthentication)
	case c.cfg.Security.CAFile != "" && c.opt.Key == nil:
		return fmt.Errorf("%w: %w: the servers want a certificate of the user, and there is none (pvfs get-user-cert)", err, ErrAuthentication)
	case c.opt.Key != nil:
		return fmt.Errorf("%w: %w: the servers do not accept the key of this client, under the name %s, for user %d", err, ErrAuthentication, cred.Issuer, cred.User)
	case c.cfg.Security.KeyStore != "":
		return fmt.Errorf("%w: %w: the servers have a keystore, and this client has no key", err, ErrAuthentication)
	}
	return fmt.Errorf("%w: %w: the servers do not let this client act for user %d", err, ErrAuthentication, cred.User)
}

// pathError adds the operation and the name to an error; nil stays nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// causeOf is an error without its operation and name.
func causeOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// linkError is pathError for two names.
func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
