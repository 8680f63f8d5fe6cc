package file

import (
	"math"
	"os"
	"strconv"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
)

// hints are the hints of a file (MPI-4.1, 14.2.8), under the names of ROMIO.
type hints struct {
	cbNodes         int64 // how many ranks are aggregators; 0: all, up to aggregatorsMax
	cbBuffer        int64 // the length of an aggregator's window, bytes
	cbRead, cbWrite storage.Choice
	dsRead, dsWrite storage.Choice
	readBuf         int64 // memory of an independent read, bytes
	writeBuf        int64 // of an independent write
	unit, factor    int64 // the striping of a new file; 0: the file system's
	perm            os.FileMode
}

// Defaults and limits of hints.
const (
	aggregatorsMax = 64
	cbBufferBytes  = 16 << 20
	indBufferBytes = 4 << 20
	bufferBytesMin = 4 << 10
	bufferBytesMax = 1 << 30
	stripUnitMax   = 1 << 40
	factorMax      = 1 << 16
	newFilePerm    = 0o666
)

func defaultHints() hints {
	return hints{cbBuffer: cbBufferBytes, readBuf: indBufferBytes, writeBuf: indBufferBytes, perm: newFilePerm}
}

// A hint is one of them: its name, how its text sets a field, and the text of a field.
type hint struct {
	name string
	set  func(h *hints, text string) bool
	get  func(h *hints) string
}

var allHints = []hint{
	number("cb_nodes", 1, math.MaxInt32, func(h *hints) *int64 { return &h.cbNodes }),
	number("cb_buffer_size", bufferBytesMin, bufferBytesMax, func(h *hints) *int64 { return &h.cbBuffer }),
	choice("romio_cb_read", func(h *hints) *storage.Choice { return &h.cbRead }),
	choice("romio_cb_write", func(h *hints) *storage.Choice { return &h.cbWrite }),
	choice("romio_ds_read", func(h *hints) *storage.Choice { return &h.dsRead }),
	choice("romio_ds_write", func(h *hints) *storage.Choice { return &h.dsWrite }),
	number("ind_rd_buffer_size", bufferBytesMin, bufferBytesMax, func(h *hints) *int64 { return &h.readBuf }),
	number("ind_wr_buffer_size", bufferBytesMin, bufferBytesMax, func(h *hints) *int64 { return &h.writeBuf }),
	number("striping_unit", 1, stripUnitMax, func(h *hints) *int64 { return &h.unit }),
	number("striping_factor", 1, factorMax, func(h *hints) *int64 { return &h.factor }),
	{"file_perm", setPerm, func(h *hints) string { return strconv.FormatUint(uint64(h.perm), 8) }},
}

func number(name string, low, high int64, field func(*hints) *int64) hint {
	return hint{name,
		func(h *hints, text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < low || n > high {
				return false
			}
			*field(h) = n
			return true
		},
		func(h *hints) string { return strconv.FormatInt(*field(h), 10) },
	}
}

var choices = map[string]storage.Choice{"automatic": storage.Automatic, "enable": storage.Enable, "disable": storage.Disable}

func choice(name string, field func(*hints) *storage.Choice) hint {
	return hint{name,
		func(h *hints, text string) bool {
			c, ok := choices[text]
			if ok {
				*field(h) = c
			}
			return ok
		},
		func(h *hints) string {
			for text, c := range choices {
				if c == *field(h) {
					return text
				}
			}
			return ""
		},
	}
}

func setPerm(h *hints, text string) bool {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > uint64(os.ModePerm) {
		return false
	}
	h.perm = os.FileMode(n)
	return true
}

// with returns the hints as changed by an Info. Keys that are no hints are ignored; a wrong value of
// a hint is an error.
func (h hints) with(info *mpi.Info) (hints, error) {
	for _, hint := range allHints {
		if text, ok := info.Get(hint.name); ok && !hint.set(&h, text) {
			return h, errclass.New(errclass.InfoValue, "the hint %s has the wrong value %q: see go doc mpi/file", hint.name, text)
		}
	}
	return h, nil
}

// info returns all hints in use.
func (h hints) info() *mpi.Info {
	in := new(mpi.Info)
	for _, hint := range allHints {
		if text := hint.get(&h); text != "0" {
			_ = in.Set(hint.name, text) // the names and texts are valid
		}
	}
	return in
}

// common are the values that all ranks need to agree on, which take rank 0's.
func (h *hints) common() []int64 {
	return []int64{h.cbNodes, h.cbBuffer, int64(h.cbRead), int64(h.cbWrite)}
}

const commonHints = 4

func (h *hints) setCommon(v []int64) {
	h.cbNodes, h.cbBuffer, h.cbRead, h.cbWrite = v[0], v[1], storage.Choice(v[2]), storage.Choice(v[3])
}

// options returns the options of an operation on the stored file.
func (h *hints) options(write bool) storage.Options {
	if write {
		return storage.Options{Sieve: h.dsWrite, BufferBytes: h.writeBuf}
	}
	return storage.Options{Sieve: h.dsRead, BufferBytes: h.readBuf}
}

// aggregators returns the ranks that are aggregators, of so many.
func (h *hints) aggregators(size int) []int {
	nodes := int(h.cbNodes)
	if nodes == 0 {
		nodes = aggregatorsMax
	}
	return twophase.Spread(nodes, size)
}
