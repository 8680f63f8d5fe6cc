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

// An Info is a list of keys with values. Each key occurs once, in the order in which keys were
// first set. It is safe for concurrent use; the zero value is empty. A nil *Info is MPI_INFO_NULL:
// it is empty, and changing it is an error of class Info. The garbage collector does the work of
// MPI_Info_free.
type Info struct {
	mu    sync.Mutex
	pairs []pair
}

type pair struct{ key, value string }

// New makes an Info from alternating keys and values: New("wdir", "/tmp", "host", "a"). A key
// without a value is an error of class Arg; other errors are those of Set.
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

// Set stores the value of a key and replaces its old value (MPI_Info_set; MPI-4.1, 10). A key that
// is empty, longer than KeyBytesMax or contains a zero byte is an error of class InfoKey. A value
// that is longer than ValueBytesMax or contains a zero byte is an error of class InfoValue.
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

// Delete removes a key (MPI_Info_delete; MPI-4.1, 10). If it is not there, the error has class
// InfoNoKey.
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

// Get returns the value of a key, and whether there is one (MPI_Info_get_string; MPI-4.1, 10). An
// invalid key has no value.
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

// Len returns the number of keys (MPI_Info_get_nkeys; MPI-4.1, 10).
func (in *Info) Len() int {
	if in == nil {
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.pairs)
}

// Key returns the n-th key, counted from 0 (MPI_Info_get_nthkey; MPI-4.1, 10). Keys keep their
// numbers until one is set or deleted. An invalid number is an error of class Arg.
func (in *Info) Key(n int) (string, error) {
	pairs := in.snapshot()
	if n < 0 || n >= len(pairs) {
		return "", errclass.New(errclass.Arg, "there is no key %d of %d, which count from 0", n, len(pairs))
	}
	return pairs[n].key, nil
}

// All iterates over the keys and values at the time when the loop begins, in order.
func (in *Info) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range in.snapshot() {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Map returns a new map of the keys and values.
func (in *Info) Map() map[string]string {
	m := make(map[string]string)
	for key, value := range in.All() {
		m[key] = value
	}
	return m
}

// Dup returns a new Info with the same keys and values in the same order (MPI_Info_dup; MPI-4.1,
// 10). MPI_INFO_NULL cannot be duplicated: the error has class Info.
func (in *Info) Dup() (*Info, error) {
	if err := in.notNull(); err != nil {
		return nil, err
	}
	return &Info{pairs: in.snapshot()}, nil
}

// snapshot returns a copy of the pairs.
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
