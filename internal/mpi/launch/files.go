package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// outputFiles are files for the output of single processes. Processes whose names for a file are
// equal share it.
type outputFiles struct {
	mu   sync.Mutex
	open map[string]*output
	all  []*os.File
}

// userOutput returns where the user wants the output of a process.
func (j *job) userOutput(p *process, errors bool) *output {
	pattern, usual := j.cfg.OutputFile, j.stdout
	if errors {
		pattern, usual = j.cfg.ErrorFile, j.stderr
	}
	if pattern == "" {
		return usual
	}
	return j.files.get(p.fileName(pattern), usual, j.cfg.Report)
}

// fileName fills in the name of a process's file.
func (p *process) fileName(pattern string) string {
	host := p.host
	if host == "" {
		host = hostName()
	}
	return strings.NewReplacer("%%", "%", "%r", strconv.Itoa(p.rank), "%g", strconv.Itoa(p.group.number), "%h", host).Replace(pattern)
}

// get opens a file, unless it is open. If it cannot be opened, that is reported once, and the usual
// output is used.
func (f *outputFiles) get(name string, usual *output, report func(string)) *output {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.open[name]; o != nil {
		return o
	}
	o := usual
	_ = os.MkdirAll(filepath.Dir(name), 0o777) // if it cannot be made, Create says why
	file, err := os.Create(name)
	if err == nil {
		f.all = append(f.all, file)
		o = newOutput(file, usual.marks.Load())
	} else {
		report("the output of a process goes to the usual place: " + err.Error())
	}
	if f.open == nil {
		f.open = map[string]*output{}
	}
	f.open[name] = o
	return o
}

func (f *outputFiles) close() { closeFiles(f.all) }
