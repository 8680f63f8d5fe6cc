package fault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMark: the kinds are found, also through further layers, and do not show.
func TestMark(t *testing.T) {
	upper, lower := errors.New("upper kind"), errors.New("lower kind")
	cause := &fs.PathError{Op: "open", Path: "key", Err: fs.ErrNotExist}
	err := fmt.Errorf("layer: %w", Mark(Markf(lower, "the key: %w", cause), upper, io.EOF))
	require.EqualError(t, err, "layer: the key: open key: file does not exist")
	for _, is := range []error{upper, lower, io.EOF, fs.ErrNotExist, cause} {
		assert.ErrorIs(t, err, is)
	}
	assert.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
}
