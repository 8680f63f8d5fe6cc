package info

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

const (
	// KeyBytesMax is the longest key, in bytes (MPI_MAX_INFO_KEY; MPI-4.1, 10).
	KeyBytesMax = 255
	// ValueBytesMax is the longest value, in bytes (MPI_MAX_INFO_VAL).
	ValueBytesMax = 1024
)

// An Info is keys with values, each key once, in the order in which they were first set. It is
// safe for concurrent use; the zero value is empty. A nil *Info is MPI_INFO_NULL: it is empty,
// and to change it is an error of class Info. The garbage collector does what MPI_Info_free
// does.
type Info struct {
	mu    sync.Mutex
	pairs []pair
}

type pair struct{ key, value string }

// New makes an Info of keys and values in turn: New("wdir", "/tmp", "host", "a"). A key
// without a value is an error of class Arg, all else is as for Set.
func New(keysAndValues ...string) (*Info, error) {
	if len(keysAndValues)%2 != 0 {
		return nil, errclass.New(errclass.Arg, "the last of %d texts is a key without a value: give keys and values in turn", len(keysAndValues))
	}
	in := new(Info)
	for i := 0; i < len(keysAndValues); i += 2 {
		if err := in.Set(keysAndValues[i], keysAndValues[i+1]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Set stores a value, instead of the one that the key had (MPI_Info_set; MPI-4.1, 10). A key
// that is empty, longer than KeyBytesMax or has a byte 0 in it is an error of class InfoKey, a
// value that is longer than ValueBytesMax or has such a byte one of class InfoValue.
func (in *Info) Set(key, value string) error {
	if err := in.notNull(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	switch {
	case len(value) > ValueBytesMax:
		return errclass.New(errclass.InfoValue, "the value of %q has %d bytes: at most %d can be kept", key, len(value), ValueBytesMax)
	case strings.IndexByte(value, 0) >= 0:
		return errclass.New(errclass.InfoValue, "the value of %q has a byte 0, which C takes for its end: leave it out", key)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if i := in.findLocked(key); i >= 0 {
		in.pairs[i].value = value
	} else {
		in.pairs = append(in.pairs, pair{key, value})
	}
	return nil
}

// Delete takes a key away (MPI_Info_delete; MPI-4.1, 10). One that is not there is an error of
// class InfoNoKey.
func (in *Info) Delete(key string) error {
	if err := in.notNull(); err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	i := in.findLocked(key)
	if i < 0 {
		return errclass.New(errclass.InfoNoKey, "there is no key %q to delete", key)
	}
	in.pairs = slices.Delete(in.pairs, i, i+1)
	return nil
}

// Get is the value of a key, and whether there is one (MPI_Info_get_string; MPI-4.1, 10). A
// text that Set would refuse as a key has none.
func (in *Info) Get(key string) (value string, ok bool) {
	if in == nil {
		return "", false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if i := in.findLocked(key); i >= 0 {
		return in.pairs[i].value, true
	}
	return "", false
}

// Len is the number of keys (MPI_Info_get_nkeys; MPI-4.1, 10).
func (in *Info) Len() int {
	if in == nil {
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.pairs)
}

// Key is the n-th key, counted from 0 (MPI_Info_get_nthkey; MPI-4.1, 10). Keys keep their
// numbers as long as none is set or deleted. A number that no key has is an error of class Arg.
func (in *Info) Key(n int) (string, error) {
	pairs := in.snapshot()
	if n < 0 || n >= len(pairs) {
		return "", errclass.New(errclass.Arg, "there is no key %d of %d, which count from 0", n, len(pairs))
	}
	return pairs[n].key, nil
}

// All are the keys and values as they are when the loop begins, in order.
func (in *Info) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range in.snapshot() {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Map is a new map of the keys and values.
func (in *Info) Map() map[string]string {
	m := make(map[string]string)
	for key, value := range in.All() {
		m[key] = value
	}
	return m
}

// Dup is a new Info with the same keys and values in the same order (MPI_Info_dup; MPI-4.1,
// 10). Of MPI_INFO_NULL there is none: the error is of class Info.
func (in *Info) Dup() (*Info, error) {
	if err := in.notNull(); err != nil {
		return nil, err
	}
	return &Info{pairs: in.snapshot()}, nil
}

// snapshot is a copy of the pairs.
func (in *Info) snapshot() []pair {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.pairs)
}

func (in *Info) findLocked(key string) int {
	return slices.IndexFunc(in.pairs, func(p pair) bool { return p.key == key })
}

func (in *Info) notNull() error {
	if in == nil {
		return errclass.New(errclass.Info, "the info is nil, which is MPI_INFO_NULL: make one with New")
	}
	return nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return errclass.New(errclass.InfoKey, "the key is empty: give it a name")
	case len(key) > KeyBytesMax:
		return errclass.New(errclass.InfoKey, "a key of %d bytes is too long: at most %d can be kept", len(key), KeyBytesMax)
	case strings.IndexByte(key, 0) >= 0:
		return errclass.New(errclass.InfoKey, "the key %q has a byte 0, which C takes for its end: leave it out", key)
	}
	return nil
}
