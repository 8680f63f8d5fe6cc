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

// ErrUnproven is for a file system whose servers want it signed for whom a client asks, by a key that they know; see Options.Key.
var ErrUnproven = errors.New("the servers do not believe for whom this is")

// unproven adds to the error of a request that they did not believe it.
func (c *core) unproven(req proto.Request, err error) error {
	if c.cfg.Security.KeyStore == "" || status(err) != proto.EPERM {
		return err
	}
	switch req.(type) { // these ask for no right, so it is the credential
	case *proto.GetAttrReq, *proto.LookupPathReq:
	default:
		return err
	}
	if c.opt.Key == nil {
		return fmt.Errorf("%w: %w: the file system has a keystore, and this client signs nothing", err, ErrUnproven)
	}
	return fmt.Errorf("%w: %w: no key in their keystore, by the name of %s, fits the one that this client signs with", err, ErrUnproven, c.users.issuer.name)
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
