package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// An event is one line of go test -json, as described by "go doc test2json" and "go help
// buildjson".
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// An outcome is the result of a test or of a whole package.
type outcome struct {
	Package string
	Test    string // "" is the package as a whole
	Action  string // pass, fail or skip
	Elapsed time.Duration
	Reason  string // why it was skipped
}

// A fold turns events into outcomes. While the tests run it prints a line for each package, and the
// output of failing tests. It can read several runs of go test at once.
type fold struct {
	module string
	print  io.Writer
	quiet  bool // print nothing of packages that pass
	of     int  // how many packages there are; 0: unknown
	ended  int

	mu       sync.Mutex
	outcomes []outcome
	broken   bool                           // go test failed, perhaps only to build something
	output   map[[2]string]*strings.Builder // by package and test, of running ones
}

func newFold(module string, print io.Writer) *fold {
	return &fold{module: module, print: print, output: make(map[[2]string]*strings.Builder)}
}

// read folds events until there are no more. Lines that are not events are printed, because they
// are errors of the go command itself.
func (f *fold) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		f.line(lines.Bytes())
	}
	return lines.Err()
}

func (f *fold) line(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var e event
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &e) != nil {
		f.say(string(line) + "\n")
		return
	}
	f.add(e)
}

func (f *fold) add(e event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		f.say(e.Output)
	case "output":
		b := f.output[key]
		if b == nil {
			b = new(strings.Builder)
			f.output[key] = b
		}
		b.WriteString(e.Output)
	case "pass", "fail", "skip":
		f.end(e, key)
	}
}

// end records the result of a test or a package.
func (f *fold) end(e event, key [2]string) {
	o := outcome{
		Package: strings.TrimPrefix(strings.TrimPrefix(e.Package, f.module), "/"),
		Test:    e.Test, Action: e.Action, Elapsed: time.Duration(e.Elapsed * float64(time.Second)),
	}
	if o.Package == "" {
		o.Package = "."
	}
	var output string
	if b := f.output[key]; b != nil {
		output = b.String()
		delete(f.output, key)
	}
	switch {
	case e.Action == "skip":
		o.Reason = skipReason(output)
	case e.Action == "fail":
		f.say(output)
	}
	if e.Test == "" {
		switch {
		case e.Action == "fail":
			f.sayUnended(e.Package)
			if !strings.Contains(output, "FAIL\t") { // a test binary does not know its package
				f.say("FAIL " + o.Package + "\n")
			}
		case !f.quiet && f.of > 0:
			f.ended++
			f.say(fmt.Sprintf("%3d/%d %s", f.ended, f.of, lastLine(output)))
		case !f.quiet:
			f.say(lastLine(output))
		}
	}
	f.outcomes = append(f.outcomes, o)
}

// sayUnended prints the output of those tests of a package that did not end, such as one that
// panicked.
func (f *fold) sayUnended(pkg string) {
	for key, b := range f.output {
		if key[0] == pkg {
			f.say(b.String())
			delete(f.output, key)
		}
	}
}

func (f *fold) say(text string) {
	_, _ = io.WriteString(f.print, text) // to a terminal or a log: an error cannot be reported
}

// position is where in the code a test has said something.
var position = regexp.MustCompile(`^\S+\.go:\d+: `)

// skipReason is the reason printed by a skipped test, without the position in the code: the first line of the last text that has
// a position. The lines of a text may have none.
func skipReason(output string) string {
	reason, found := "no reason was given", false
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		at := position.FindString(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") || found && at == "" {
			continue
		}
		reason, found = strings.TrimPrefix(line, at), at != ""
	}
	return reason
}

// lastLine is the last line of a package: "ok", its name, and its seconds.
func lastLine(output string) string {
	output = strings.TrimSuffix(output, "\n")
	return output[strings.LastIndexByte(output, '\n')+1:] + "\n"
}
