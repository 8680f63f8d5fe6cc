package server

import (
	"os"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
)

// source supplies the bytes of a datafile that a transfer reads (rpc.Source).
type source struct {
	data *store.Data
	at   *cursor
	file *os.File // of data, once it is open

	verify func(b []byte, off int64) error // data.Verify
}

// Fill reads bytes. Bytes beyond the end of the datafile are zeros.
func (s *source) Fill(b []byte, _ int64) error {
	return s.at.each(b, func(part []byte, phys int64) error {
		n, err := s.data.ReadAt(part, phys)
		clear(part[n:])
		return err
	})
}

// Range returns the place of n bytes in the file, if they are contiguous and in memory. Other bytes, among them holes, are read
// by Fill.
func (s *source) Range(n int, _ int64) (bmi.FileRange, bool) {
	phys, ok := s.at.piece(n)
	if !ok || s.file == nil && !s.open() || !s.data.InMemory(phys, n) {
		return bmi.FileRange{}, false
	}
	s.at.skip(n)
	return bmi.FileRange{File: s.file, Off: phys, Len: n, Check: s.verify}, true
}

// open gets the file. If that fails, Fill reports the error too.
func (s *source) open() bool {
	f, err := s.data.File()
	s.file, s.verify = f, s.data.Verify
	return err == nil && f != nil
}
