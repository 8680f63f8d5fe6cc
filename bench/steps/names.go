//go:build linux && amd64

package main

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// names tells what an instruction is counted under; "": not at all, because the traced program
// itself executes it.
type names interface {
	nameOf(pc uint64) string
}

// goNames are the functions of a program in Go, or their lines.
type goNames struct {
	symbols *gosym.Table
	lines   bool
}

func goNamesOf(program string, lines bool) (*goNames, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, table := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || table == nil {
		return nil, errors.New("the program has no table of its functions")
	}
	data, err := table.Data()
	if err != nil {
		return nil, err
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	return &goNames{symbols: symbols, lines: lines}, err
}

// nameOf does not count what the runtime does on behalf of the program as a whole.
func (g *goNames) nameOf(pc uint64) string {
	fn := g.symbols.PCToFunc(pc)
	if fn == nil {
		return ""
	}
	name := path.Base(fn.Name)
	if strings.HasPrefix(name, "main.") || strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "runtime.mem") && !strings.HasPrefix(name, "runtime.gcWriteBarrier") ||
		!strings.Contains(name, ".") { // assembly of the runtime
		return ""
	}
	if !g.lines {
		return name
	}
	file, line, _ := g.symbols.PCToLine(pc)
	return fmt.Sprintf("%s  %s:%d", name, filepath.Base(file), line)
}
