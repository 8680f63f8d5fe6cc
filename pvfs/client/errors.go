package client

import (
	"errors"
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
