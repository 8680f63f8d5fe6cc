package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// status is the proto.Status in an error, without the class that stock servers may add; OK if there is none.
func status(err error) proto.Status {
	var s proto.Status
	if errors.As(err, &s) {
		return s.Base()
	}
	return proto.OK
}

// ErrAuthentication: the file system has a keystore, and the credential has no signature that fits it. See Options.Key.
var ErrAuthentication = errors.New("authentication failed")

// authenticated adds ErrAuthentication to an error that means it.
func (c *core) authenticated(req proto.Request, err error) error {
	if c.cfg.Security.KeyStore == "" || status(err) != proto.EPERM {
		return err
	}
	switch req.(type) { // these need no right, so it is the credential that was refused
	case *proto.GetAttrReq, *proto.LookupPathReq:
	default:
		return err
	}
	if c.opt.Key == nil {
		return fmt.Errorf("%w: %w: the servers have a keystore, and this client has no key", err, ErrAuthentication)
	}
	return fmt.Errorf("%w: %w: the keystore of the servers does not have the key of this client under the name %s", err, ErrAuthentication, c.users.issuer.name)
}

// pathError says which operation on which name failed; nil stays nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// linkError is pathError for two names.
func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}
