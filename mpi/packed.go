package mpi

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
)

// packText returns a value as text for a launcher: JSON, compressed, in base64.
func packText(v any) string {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // fails for a wrong level only
	_ = json.NewEncoder(w).Encode(v)                   // the types of this package can be encoded, and a Buffer cannot fail
	_ = w.Close()
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// unpackText reads a compressed text of another process. It decompresses at most most bytes.
func unpackText(text string, most int64, v any) error {
	packed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	d := json.NewDecoder(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), most))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
