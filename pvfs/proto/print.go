package proto

import (
	"fmt"
	"time"
)

// printMax is how many elements of a list String methods print.
const printMax = 16

// A shortened list prints only its first elements.
type shortened[T any] []T

func shorten[T any](list []T) shortened[T] { return list }

func (s shortened[T]) String() string {
	if len(s) <= printMax {
		return fmt.Sprint([]T(s))
	}
	return fmt.Sprintf("%v and %d more", []T(s[:printMax]), len(s)-printMax)
}

// unix is a time on the wire.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func (t ObjType) String() string {
	switch t {
	case TypeNone:
		return "none"
	case TypeMetafile:
		return "metafile"
	case TypeDatafile:
		return "datafile"
	case TypeDirectory:
		return "directory"
	case TypeSymlink:
		return "symlink"
	case TypeDirdata:
		return "dirdata"
	case TypeInternal:
		return "internal"
	}
	return fmt.Sprintf("type(%d)", int32(t))
}

func (t IOType) String() string {
	switch t {
	case IORead:
		return "read"
	case IOWrite:
		return "write"
	}
	return fmt.Sprintf("io(%d)", int32(t))
}

func (e DirEntry) String() string { return fmt.Sprintf("%q=%d", e.Name, e.Handle) }

// names are the names of statuses.
func names(list []Status) shortened[string] {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.Name()
	}
	return out
}

// lengths are the sizes of values.
func lengths(list [][]byte) shortened[int] {
	out := make([]int, len(list))
	for i, b := range list {
		out[i] = len(b)
	}
	return out
}
