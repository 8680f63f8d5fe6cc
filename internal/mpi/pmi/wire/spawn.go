package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// A Spawn is a PMI-1 request to start processes of one program. A job of several programs needs one
// Spawn for each program. Only the last one is answered.
type Spawn struct {
	Total, Number int // Number of Total, 1 ≤ Number ≤ Total
	Processes     int
	Program       string
	Args          []string
	Preput, Info  []Pair // pairs to put, and those of the MPI_Info
}

// SpawnStart is the first line of a Spawn, and SpawnEnd its last.
const (
	SpawnStart = "mcmd=spawn\n"
	SpawnEnd   = "endcmd\n"
)

// AppendSpawn appends a Spawn in the form of PMI-1, a line for each key.
func AppendSpawn(dst []byte, s Spawn) ([]byte, error) {
	pairs := []Pair{
		{"nprocs", strconv.Itoa(s.Processes)}, {"execname", s.Program},
		{"totspawns", strconv.Itoa(s.Total)}, {"spawnssofar", strconv.Itoa(s.Number)},
	}
	for i, arg := range s.Args {
		pairs = append(pairs, Pair{fmt.Sprintf("arg%d", i+1), arg})
	}
	pairs = append(pairs, Pair{"argcnt", strconv.Itoa(len(s.Args))})
	pairs = appendNumbered(pairs, "preput", s.Preput)
	pairs = appendNumbered(pairs, "info", s.Info)
	out := append(dst, SpawnStart...)
	for _, p := range pairs {
		if strings.ContainsAny(p.Value, "\n\r\x00") {
			return dst, malformed("%s has the end of a line in it: %q", p.Key, p.Value)
		}
		if len(p.Key)+len(p.Value)+2 > LineBytesMax {
			return dst, ErrTooLong
		}
		out = append(append(append(append(out, p.Key...), '='), p.Value...), '\n')
	}
	out = append(out, SpawnEnd...)
	if len(out)-len(dst) > SpawnBytesMax {
		return dst, ErrTooLong
	}
	return out, nil
}

func appendNumbered(pairs []Pair, what string, list []Pair) []Pair {
	pairs = append(pairs, Pair{what + "_num", strconv.Itoa(len(list))})
	for i, p := range list {
		pairs = append(pairs, Pair{fmt.Sprintf("%s_key_%d", what, i), p.Key}, Pair{fmt.Sprintf("%s_val_%d", what, i), p.Value})
	}
	return pairs
}

// A SpawnParser parses a Spawn line by line. Its zero value has read SpawnStart.
type SpawnParser struct {
	bytes int // ≤ SpawnBytesMax
	keys  map[string]string
}

// Line parses the next line, with its end, and returns whether it was the last.
func (p *SpawnParser) Line(line []byte) (done bool, err error) {
	if p.bytes += len(line); p.bytes > SpawnBytesMax {
		return false, ErrTooLong
	}
	if string(line) == SpawnEnd {
		return true, nil
	}
	key, value, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "=")
	if !ok || !isName(key) || strings.ContainsAny(value, "\r\x00") {
		return false, malformed("%q in a spawn", shorten(string(line)))
	}
	if p.keys == nil {
		p.keys = map[string]string{}
	}
	if _, twice := p.keys[key]; twice {
		return false, malformed("%s is in a spawn twice", key)
	}
	p.keys[key] = value
	return false, nil
}

// Spawn returns the parsed Spawn after Line has returned done.
func (p *SpawnParser) Spawn() (Spawn, error) {
	s := Spawn{Program: p.keys["execname"]}
	for _, n := range []struct {
		to       *int
		key      string
		fallback string
	}{{&s.Processes, "nprocs", ""}, {&s.Total, "totspawns", "1"}, {&s.Number, "spawnssofar", "1"}} {
		var err error
		if *n.to, err = p.number(n.key, n.fallback); err != nil {
			return Spawn{}, err
		}
	}
	if s.Program == "" || s.Processes < 1 || s.Number < 1 || s.Number > s.Total {
		return Spawn{}, malformed("a spawn of %d processes of %q, number %d of %d", s.Processes, s.Program, s.Number, s.Total)
	}
	count, err := p.number("argcnt", "0")
	if err != nil {
		return Spawn{}, err
	}
	for i := range count {
		arg, ok := p.keys[fmt.Sprintf("arg%d", i+1)]
		if !ok {
			return Spawn{}, malformed("a spawn of %d arguments without the %dth", count, i+1)
		}
		s.Args = append(s.Args, arg)
	}
	if s.Preput, err = p.numbered("preput"); err != nil {
		return Spawn{}, err
	}
	s.Info, err = p.numbered("info")
	return s, err
}

// number returns a number that is at least 0. A large one costs nothing, because the items that it
// counts must be there.
func (p *SpawnParser) number(key, fallback string) (int, error) {
	text, ok := p.keys[key]
	if !ok {
		text = fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, malformed("%s=%s in a spawn", key, quote(text))
	}
	return n, nil
}

func (p *SpawnParser) numbered(what string) ([]Pair, error) {
	count, err := p.number(what+"_num", "0")
	if err != nil {
		return nil, err
	}
	var list []Pair
	for i := range count {
		key, ok1 := p.keys[fmt.Sprintf("%s_key_%d", what, i)]
		value, ok2 := p.keys[fmt.Sprintf("%s_val_%d", what, i)]
		if !ok1 || !ok2 {
			return nil, malformed("a spawn with %s_num=%d without number %d", what, count, i)
		}
		list = append(list, Pair{key, value})
	}
	return list, nil
}
