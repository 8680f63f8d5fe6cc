package main

import (
	"regexp"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/docs"
)

// A line is one of the terminal.
type line struct {
	at      time.Duration // since the start
	text    string
	command bool
}

// A screen collects what a terminal shows. It knows lines, and returns to their beginning; other control
// sequences are left out.
type screen struct {
	commands map[string]string // by their line in the page
	start    time.Time
	lines    []line
	rest     string // a line without its end
}

var control = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// write takes what was written to the terminal.
func (s *screen) write(now time.Time, data []byte) {
	s.rest += string(data)
	for {
		text, rest, ok := strings.Cut(s.rest, "\n")
		if !ok {
			return
		}
		s.rest = rest
		s.add(now, text)
	}
}

func (s *screen) add(now time.Time, text string) {
	text = control.ReplaceAllString(strings.TrimRight(text, "\r"), "")
	text = strings.TrimRight(text[strings.LastIndexByte(text, '\r')+1:], " ")
	before, number, ok := strings.Cut(text, docs.Marker)
	if !ok {
		s.lines = append(s.lines, line{at: now.Sub(s.start), text: text})
		return
	}
	if before != "" {
		s.lines = append(s.lines, line{at: now.Sub(s.start), text: before})
	}
	if command := s.commands[number]; command != "" {
		s.lines = append(s.lines, line{now.Sub(s.start), command, true})
	}
}

// end returns all lines.
func (s *screen) end() []line {
	if s.rest != "" {
		s.add(time.Now(), s.rest)
	}
	return s.lines
}
