package proto

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// captured are the messages of stock programs in testdata, one file for each operation.
func captured(t testing.TB) map[string][]golden.Vector {
	t.Helper()
	files, err := filepath.Glob("testdata/captured/*.golden")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := make(map[string][]golden.Vector)
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".golden")] = golden.Load(t, file)
	}
	return all
}

// isRequest reports by its name whether a vector is a request.
func isRequest(name string) bool { return strings.HasPrefix(name, "request") }

// describe decodes a message, describes it, and encodes it again.
func describe(request bool, b []byte) (text string, again []byte, err error) {
	if request {
		h, req, err := ParseRequest(b)
		if err != nil {
			return "", nil, err
		}
		return h.String() + "\n" + req.String(), AppendRequest(nil, h, req), nil
	}
	resp, s, err := ParseAnyResponse(b)
	switch {
	case err != nil:
		return "", nil, err
	case s != OK:
		op, _ := OpOf(b)
		return "RESP " + op.String() + " " + s.Name(), AppendStatus(nil, op, s), nil
	}
	return resp.String(), AppendResponse(nil, resp), nil
}

// Captured messages of stock programs are decoded, and encoded to the same bytes, without exceptions. The first line above a
// vector is its source, the others are its contents.
func TestCaptured(t *testing.T) {
	for file, vectors := range captured(t) {
		t.Run(file, func(t *testing.T) {
			for _, v := range vectors {
				text, again, err := describe(isRequest(v.Name), v.Bytes)
				require.NoError(t, err, v.Name)
				_, want, _ := strings.Cut(v.Comment, "\n")
				assert.Equal(t, want, text, v.Name)
				assert.Equal(t, v.Bytes, again, v.Name)
				op, ok := OpOf(v.Bytes)
				assert.True(t, ok)
				assert.Equal(t, file, fileOf(op), "%s is in the wrong file", v.Name)
			}
		})
	}
}

// fileOf is the file name for an operation, without its extension.
func fileOf(op Op) string { return strings.ToLower(strings.ReplaceAll(op.String(), "_", "")) }

// Messages of every type, with every field set, decode to their original values.
func TestSamples(t *testing.T) {
	var vectors []golden.Vector
	for _, s := range samples() {
		b := s.append(nil)
		vectors = append(vectors, golden.Vector{Name: s.name, Comment: s.String(), Bytes: b})
		if s.req != nil {
			h, req, err := ParseRequest(b)
			require.NoError(t, err, s.name)
			assert.Equal(t, s.h, h, s.name)
			assert.Equal(t, s.req, req, s.name)
			continue
		}
		resp, status, err := ParseAnyResponse(b)
		require.NoError(t, err, s.name)
		assert.Equal(t, OK, status)
		assert.Equal(t, s.resp, resp, s.name)
	}
	golden.CheckVectors(t, "testdata/samples.golden", vectors)
}

// The methods of the types do the same as the functions of the package.
func TestMethods(t *testing.T) {
	for _, s := range samples() {
		b := s.append(nil)
		if s.req != nil {
			assert.Equal(t, b, s.req.Append(nil, s.h), s.name)
			into := NewRequest(s.req.Op())
			h, err := into.Parse(b)
			require.NoError(t, err, s.name)
			assert.Equal(t, s.h, h, s.name)
			assert.Equal(t, s.req, into, s.name)
			continue
		}
		assert.Equal(t, b, s.resp.Append(nil), s.name)
		into := NewResponse(s.resp.Op())
		require.NoError(t, into.Parse(b), s.name)
		assert.Equal(t, s.resp, into, s.name)
	}
}

// everyVector is all vectors by name.
func everyVector(t testing.TB) map[string][]byte {
	all := make(map[string][]byte)
	for file, vectors := range captured(t) {
		for _, v := range vectors {
			all[v.Name+"/"+file] = v.Bytes
		}
	}
	for _, s := range samples() {
		all[s.name+"/sample"] = s.append(nil)
	}
	return all
}

// No prefix of a message is valid, and neither is a message with trailing bytes.
func TestTruncated(t *testing.T) {
	all := everyVector(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := all[name]
		step := 1
		if len(b) > 4096 {
			step = 7 // the largest ones are lists of handles
		}
		for n := 0; n < len(b); n += step {
			_, _, err := describe(isRequest(name), b[:n:n])
			if !assert.ErrorIs(t, err, ErrMalformed, "%s, %d of %d bytes", name, n, len(b)) {
				break
			}
		}
		for _, more := range [][]byte{{0}, make([]byte, 8)} {
			_, _, err := describe(isRequest(name), append(slices.Clip(b), more...))
			assert.ErrorIs(t, err, ErrMalformed, name)
		}
	}
}

// The position of a message in a buffer does not matter: alignment counts from its first byte.
func TestAppendAnywhere(t *testing.T) {
	for _, s := range samples() {
		want := s.append(nil)
		for n := range 9 {
			before := slices.Repeat([]byte{0xee}, n)
			got := s.append(slices.Clone(before))
			assert.Equal(t, before, got[:n], s.name)
			assert.Equal(t, want, got[n:], "%s behind %d bytes", s.name, n)
		}
	}
}

// Parsed values share no memory with the message, except for the data of small I/O.
func TestParsedIsACopy(t *testing.T) {
	for _, s := range samples() {
		b := s.append(nil)
		if s.req != nil {
			h, req, err := ParseRequest(b)
			require.NoError(t, err)
			if q, ok := req.(*SmallIOReq); ok {
				q.Data = slices.Clone(q.Data)
			}
			clobber(b)
			assert.Equal(t, s.h, h, s.name)
			assert.Equal(t, s.req, req, s.name)
			continue
		}
		resp, _, err := ParseAnyResponse(b)
		require.NoError(t, err)
		if p, ok := resp.(*SmallIOResp); ok {
			p.Data = slices.Clone(p.Data)
		}
		clobber(b)
		assert.Equal(t, s.resp, resp, s.name)
	}
}

func clobber(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}

// A body that is reused keeps none of its old contents.
func TestParseIntoUsed(t *testing.T) {
	for _, s := range samples() {
		if s.req != nil {
			into := NewRequest(s.req.Op())
			_, err := into.Parse(s.append(nil))
			require.NoError(t, err)
			zero := AppendRequest(nil, nil, NewRequest(s.req.Op()))
			_, want, err := ParseRequest(zero)
			require.NoError(t, err, s.name)
			_, err = into.Parse(zero)
			require.NoError(t, err, s.name)
			assert.Equal(t, want, into, s.name)
			continue
		}
		into := NewResponse(s.resp.Op())
		require.NoError(t, into.Parse(s.append(nil)))
		zero := AppendResponse(nil, NewResponse(s.resp.Op()))
		want, _, err := ParseAnyResponse(zero)
		require.NoError(t, err, s.name)
		require.NoError(t, into.Parse(zero), s.name)
		assert.Equal(t, want, into, s.name)
	}
}
