package coll

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Where says how the ranks of a communicator are spread over hosts.
type Where string

// The ways. AnyWhere is all of them, in a Rule.
const (
	OneHost   Where = "one"  // all on one host
	HostEach  Where = "each" // every rank on a host of its own
	ManyHosts Where = "many" // several hosts, some with several ranks
	AnyWhere  Where = "*"    // any of them
)

// A Rule says which algorithm an operation uses: on at most Ranks ranks, for at most
// Bytes bytes.
type Rule struct {
	Operation Operation
	Where     Where
	Ranks     int // NoLimit: any number
	Bytes     int // NoLimit: any size
	Algorithm Choice
}

// NoLimit is the limit of a Rule that has none.
const NoLimit = math.MaxInt

// A Tuning is a table of Rules. The first rule that fits counts. If no rule fits, or if its
// algorithm cannot be used (see Algorithm), choose.go decides.
//
// The bytes of an operation are: for bcast, reduce, allreduce, reduce-scatter, scan and exscan,
// those of the vector; for gather, scatter, allgather and alltoall, those that one rank sends to
// another; for allgatherv, the mean of these; for barrier 0; and for alltoallv 0, because no rank
// knows the sizes of all. A hierarchical algorithm looks up each of its steps, too, with the ranks
// that take part in it: those of one host (OneHost), and one of each host (HostEach).
type Tuning struct {
	list  []Rule
	rules map[Operation][]Rule
	text  string
}

// The limits of a table, whoever wrote it.
const (
	// TuningBytesMax limits its text without comments and needless blanks, because
	// every process of a job reads it from the launcher.
	TuningBytesMax = 32 << 10
	// tuningFileBytesMax and tuningLineBytesMax limit a file and its lines.
	tuningFileBytesMax = 1 << 20
	tuningLineBytesMax = 4 << 10
)

// tuningHeader is the first line of a file.
const tuningHeader = "viaduct-tuning 1"

// NewTuning makes a table of rules.
func NewTuning(rules []Rule) (*Tuning, error) {
	t := &Tuning{list: slices.Clone(rules), rules: make(map[Operation][]Rule)}
	text := new(strings.Builder)
	fmt.Fprintln(text, tuningHeader)
	for i, r := range rules {
		if err := r.check(); err != nil {
			return nil, errclass.Wrap(errclass.Arg, err, "rule %d", i)
		}
		t.rules[r.Operation] = append(t.rules[r.Operation], r)
		fmt.Fprintln(text, r)
	}
	if t.text = text.String(); len(t.text) > TuningBytesMax {
		return nil, errclass.New(errclass.Arg, "the rules of a tuning table have %d bytes, at most %d are allowed: leave out operations, ranks or sizes", len(t.text), TuningBytesMax)
	}
	return t, nil
}

// Rules returns the rules, those of an operation in their order.
func (t *Tuning) Rules() []Rule { return slices.Clone(t.list) }

// String returns the table in the form that ParseTuning reads.
func (t *Tuning) String() string { return t.text }

// String returns the rule as a line of a table.
func (r Rule) String() string {
	return fmt.Sprintf("%s %s %s %s %s", r.Operation, r.Where, limitText(r.Ranks), limitText(r.Bytes), r.Algorithm)
}

func limitText(n int) string {
	if n == NoLimit {
		return "*"
	}
	return strconv.Itoa(n)
}

func (r Rule) check() error {
	switch {
	case !slices.Contains(Operations, r.Operation):
		return errclass.New(errclass.Arg, "unknown operation %.40q: choose from %s", r.Operation, words(Operations))
	case !slices.Contains(places, r.Where):
		return errclass.New(errclass.Arg, "%.40q is no place: choose from %s", r.Where, words(places))
	case r.Ranks < 1:
		return errclass.New(errclass.Arg, "%d ranks: give 1 or more, or *", r.Ranks)
	case r.Bytes < 0:
		return errclass.New(errclass.Arg, "%d bytes: give 0 or more, or *", r.Bytes)
	}
	var names []Choice
	for _, a := range Algorithms(r.Operation) {
		names = append(names, a.Name)
	}
	if !slices.Contains(names, r.Algorithm) {
		return errclass.New(errclass.Arg, "%s has no algorithm %.40q: choose from %s", r.Operation, r.Algorithm, words(names))
	}
	return nil
}

var places = []Where{OneHost, HostEach, ManyHosts, AnyWhere}

func words[T ~string](list []T) string {
	var b strings.Builder
	for i, w := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// ParseTuning reads a table: text whose first line is "viaduct-tuning 1", and then one
// rule a line, five words separated by blanks. A number is a limit, and * means none.
// What follows a # is a comment.
//
//	viaduct-tuning 1
//	# operation where ranks  bytes algorithm
//	allreduce   one       4  16384 doubling
//	allreduce   many      *   4096 hierarchical
//
// Where is one (all ranks on one host), each (a host for each rank), many (several
// hosts, some with several ranks) or *. Errors name the file and the line, and have class
// errclass.Arg.
func ParseTuning(file string, r io.Reader) (*Tuning, error) {
	text, err := io.ReadAll(io.LimitReader(r, tuningFileBytesMax+1))
	if err != nil {
		return nil, errclass.Wrap(errclass.Arg, err, "%s", file)
	}
	if len(text) > tuningFileBytesMax {
		return nil, errclass.New(errclass.Arg, "%s: more than %d bytes", file, tuningFileBytesMax)
	}
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, tuningLineBytesMax)
	var rules []Rule
	line, headed := 0, false
	wrong := func(err error) (*Tuning, error) {
		return nil, errclass.Wrap(errclass.Arg, err, "%s:%d", file, line)
	}
	for in.Scan() {
		line++
		words, _, _ := strings.Cut(in.Text(), "#")
		fields := strings.Fields(words)
		switch {
		case len(fields) == 0:
		case !headed:
			if headed = strings.Join(fields, " ") == tuningHeader; !headed {
				return wrong(errclass.New(errclass.Arg, "a tuning table begins with the line %q", tuningHeader))
			}
		default:
			rule, err := parseRule(fields)
			if err != nil {
				return wrong(err)
			}
			rules = append(rules, rule)
		}
	}
	line++
	if err := in.Err(); err != nil {
		return wrong(err)
	}
	if !headed {
		return wrong(errclass.New(errclass.Arg, "the line %q is missing", tuningHeader))
	}
	t, err := NewTuning(rules)
	if err != nil {
		return nil, errclass.Wrap(errclass.Arg, err, "%s", file)
	}
	return t, nil
}

func parseRule(fields []string) (Rule, error) {
	if len(fields) != 5 {
		return Rule{}, errclass.New(errclass.Arg, "%d words where a rule has five: operation, where, ranks, bytes, algorithm", len(fields))
	}
	r := Rule{Operation: Operation(fields[0]), Where: Where(fields[1]), Algorithm: Choice(fields[4])}
	var err error
	if r.Ranks, err = parseLimit("ranks", fields[2]); err != nil {
		return r, err
	}
	if r.Bytes, err = parseLimit("bytes", fields[3]); err != nil {
		return r, err
	}
	return r, r.check()
}

func parseLimit(what, word string) (int, error) {
	if word == "*" {
		return NoLimit, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return 0, errclass.New(errclass.Arg, "%.40q %s: give a number or *", word, what)
	}
	return n, nil
}

// choose returns the algorithm of the first rule that fits, or Auto.
func (t *Tuning) choose(op Operation, where Where, n, bytes int) Choice {
	if t == nil {
		return Auto
	}
	for _, r := range t.rules[op] {
		if (r.Where == where || r.Where == AnyWhere) && n <= r.Ranks && bytes <= r.Bytes {
			return r.Algorithm
		}
	}
	return Auto
}
