package samplesort

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A file is a header and then the records, all little-endian:
//
//	 0  8  magic
//	 8  4  version of the format, 1
//	12  4  bytes of a record, 16
//	16  8  number of records
//	24  8  sum of the records' hashes
//	32     records: key 8, value 8
const (
	magic   = "VIASORT\n"
	version = 1
	// HeaderBytes is the size of a header.
	HeaderBytes = 32
	countMax    = (math.MaxInt64 - HeaderBytes) / RecordBytes
)

// A Header describes the records in a file. Sum also identifies the records of the sorted file.
type Header struct {
	Count uint64 // of records
	Sum   uint64 // see Summary
}

// Append appends a header's bytes to dst.
func (h Header) Append(dst []byte) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, RecordBytes)
	dst = binary.LittleEndian.AppendUint64(dst, h.Count)
	return binary.LittleEndian.AppendUint64(dst, h.Sum)
}

// ParseHeader checks the first bytes of a file against its size, so that a number in it never makes
// a program allocate more memory than the file has data.
func ParseHeader(b []byte, fileBytes int64) (Header, error) {
	if len(b) < HeaderBytes {
		return Header{}, fmt.Errorf("samplesort: a file of %d bytes is too short for a header of %d", fileBytes, HeaderBytes)
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return Header{}, errors.New("samplesort: this is no file of records: it begins otherwise")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return Header{}, fmt.Errorf("samplesort: the file is of version %d: only %d is known", v, version)
	}
	if n := binary.LittleEndian.Uint32(b[12:]); n != RecordBytes {
		return Header{}, fmt.Errorf("samplesort: records have %d bytes in the file: only %d are known", n, RecordBytes)
	}
	h := Header{Count: binary.LittleEndian.Uint64(b[16:]), Sum: binary.LittleEndian.Uint64(b[24:])}
	if h.Count > countMax || h.FileBytes() != fileBytes {
		return Header{}, fmt.Errorf("samplesort: a file of %d records cannot have %d bytes: is it cut off?", h.Count, fileBytes)
	}
	return h, nil
}

// ReadHeader reads the header of a file of fileBytes bytes.
func ReadHeader(r io.ReaderAt, fileBytes int64) (Header, error) {
	b := make([]byte, HeaderBytes)
	n, err := r.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Header{}, fmt.Errorf("samplesort: the header: %w", err)
	}
	return ParseHeader(b[:n], fileBytes)
}

// WriteHeader writes the header of a file.
func WriteHeader(w io.WriterAt, h Header) error {
	if _, err := w.WriteAt(h.Append(nil), 0); err != nil {
		return fmt.Errorf("samplesort: the header: %w", err)
	}
	return nil
}

// FileBytes returns the size of the file.
func (h Header) FileBytes() int64 { return offset(h.Count) }

// offset returns the offset of a record in a file.
func offset(record uint64) int64 { return HeaderBytes + int64(record)*RecordBytes }

// pieceRecords is how many records are read or written at once: a quarter of a megabyte.
const pieceRecords = 1 << 14

// ReadRecords fills records from the file, beginning with record number first.
func ReadRecords(r io.ReaderAt, first uint64, records []Record) error {
	buf := make([]byte, min(len(records), pieceRecords)*RecordBytes)
	for len(records) > 0 {
		piece := buf[:min(len(buf), len(records)*RecordBytes)]
		if n, err := r.ReadAt(piece, offset(first)); n < len(piece) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("samplesort: records from %d on: %w", first, err)
		}
		n := len(piece) / RecordBytes
		for i := range n {
			b := piece[i*RecordBytes:][:RecordBytes]
			records[i] = Record{Key: binary.LittleEndian.Uint64(b), Value: binary.LittleEndian.Uint64(b[8:])}
		}
		records, first = records[n:], first+uint64(n)
	}
	return nil
}

// WriteRecords stores records in the file, beginning with record number first.
func WriteRecords(w io.WriterAt, first uint64, records []Record) error {
	buf := make([]byte, 0, min(len(records), pieceRecords)*RecordBytes)
	for len(records) > 0 {
		n := min(len(records), pieceRecords)
		buf = buf[:0]
		for _, r := range records[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, r.Key)
			buf = binary.LittleEndian.AppendUint64(buf, r.Value)
		}
		if _, err := w.WriteAt(buf, offset(first)); err != nil {
			return fmt.Errorf("samplesort: records from %d on: %w", first, err)
		}
		records, first = records[n:], first+uint64(n)
	}
	return nil
}
