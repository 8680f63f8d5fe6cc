//go:build linux && amd64

package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// libraryNames are the functions of the shared libraries of a process, as far as these export them.
// What they do not is counted under the library alone.
type libraryNames struct {
	pid       int
	libraries []library // by address; nil: not looked at yet
}

// A library is a file that is mapped for execution.
type library struct {
	start, end uint64 // of the mapping
	name       string // "": the traced program itself
	functions  []function
}

// A function's addresses are those in the process.
type function struct {
	start, end uint64
	name       string
}

func (l *libraryNames) nameOf(pc uint64) string {
	if l.libraries == nil {
		l.libraries = librariesOf(l.pid)
	}
	i, found := slices.BinarySearchFunc(l.libraries, pc, func(lib library, pc uint64) int { return within(lib.start, lib.end, pc) })
	if !found {
		return "elsewhere"
	}
	lib := &l.libraries[i]
	if lib.name == "" {
		return ""
	}
	i, found = slices.BinarySearchFunc(lib.functions, pc, func(f function, pc uint64) int { return within(f.start, f.end, pc) })
	if !found {
		return lib.name
	}
	return lib.name + "  " + lib.functions[i].name
}

// within compares a range with an address, for a search.
func within(start, end, pc uint64) int {
	switch {
	case end <= pc:
		return -1
	case start > pc:
		return 1
	}
	return 0
}

// librariesOf reads what a process has mapped for execution. What cannot be read has no functions.
func librariesOf(pid int) (libraries []library) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // "" is no library's path
	for line := range strings.Lines(string(maps)) {
		var start, end, offset, inode uint64
		var access, device, file string
		// A mapping without a file has no last field.
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &start, &end, &access, &offset, &device, &inode, &file); n < 7 || !strings.Contains(access, "x") {
			continue
		}
		lib := library{start: start, end: end}
		if file != program {
			lib.name = filepath.Base(file)
			lib.functions = functionsOf(file, start-offset)
		}
		libraries = append(libraries, lib)
	}
	return libraries // maps is in the order of addresses
}

// functionsOf returns the functions that a file exports, in the order of their addresses. base is
// where the beginning of the file would be mapped.
func functionsOf(file string, base uint64) (functions []function) {
	f, err := elf.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil
	}
	text := f.Section(".text")
	if text == nil {
		return nil
	}
	base -= text.Addr - text.Offset
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 && s.Size != 0 {
			functions = append(functions, function{base + s.Value, base + s.Value + s.Size, s.Name})
		}
	}
	slices.SortFunc(functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	return slices.CompactFunc(functions, func(a, b function) bool { return a.start < b.end && b.start < a.end }) // other names of the same
}
