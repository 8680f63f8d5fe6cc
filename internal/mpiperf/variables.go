package mpiperf

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
)

// Variables are the variables of the tools interface of a rank, during measurements.
type Variables struct {
	t       *tool.Interface
	s       *tool.Session
	handles []*tool.Handle
}

// WatchVariables begins to count. Variables of communicators are those of the world.
func WatchVariables(p *mpi.Process) (*Variables, error) {
	t, err := tool.Open(p)
	if err != nil {
		return nil, err
	}
	v := &Variables{t: t, s: t.Session()}
	all, err := t.Performance()
	if err != nil {
		return nil, err
	}
	for _, of := range all {
		h, err := v.s.Handle(of.Name, nil)
		if err != nil {
			h, err = v.s.Handle(of.Name, p.World())
		}
		if err == nil { // otherwise it is a window's
			v.handles = append(v.handles, h)
		}
	}
	return v, v.s.Start()
}

// A Variable is a variable with its value, and one line of `mpibench --json --vars`.
type Variable struct {
	Name  string `json:"variable" table:"VARIABLE"`
	Kind  string `json:"kind"`  // "control", or the class of a performance variable
	Value any    `json:"value"` // a number, or one for each rank; of a control, what it is set to
	Shown string `json:"-" table:"VALUE,,right"`
	Text  string `json:"text" table:"MEANING"`
}

// Read ends the counting, and returns all variables whose names begin with prefix: controls, then
// performance variables.
func (v *Variables) Read(prefix string) (all []Variable, err error) {
	defer v.t.Close()
	values, err := v.s.Read()
	if err != nil {
		return nil, err
	}
	controls, err := v.t.Controls()
	if err != nil {
		return nil, err
	}
	for _, c := range controls {
		value, err := c.Read()
		if err != nil {
			return nil, err
		}
		shown := fmt.Sprint(value)
		if text, ok := value.(string); ok {
			shown = strconv.Quote(text)
		}
		all = append(all, Variable{Name: c.Name, Kind: "control", Value: value, Text: c.Text, Shown: shown})
	}
	for i, h := range v.handles {
		one := Variable{Name: h.Name, Kind: h.Class.String(), Value: values[i], Text: h.Text, Shown: shownValues(h, values[i])}
		if h.Binding == tool.OfProcess {
			one.Value = values[i][0]
		}
		all = append(all, one)
	}
	kept := all[:0]
	for _, one := range all {
		if strings.HasPrefix(one.Name, prefix) {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// shownValues returns values for people: one for each rank, if there are several.
func shownValues(h *tool.Handle, values []uint64) string {
	var b strings.Builder
	for i, n := range values {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case n < uint64(len(h.Enum)):
			b.WriteString(h.Enum[n])
		case h.Nanoseconds:
			b.WriteString(time.Duration(n).String())
		default:
			b.WriteString(strconv.FormatUint(n, 10))
		}
	}
	return b.String()
}

// WriteVariables prints variables: a table for people below the other one, or lines of JSON.
func WriteVariables(w io.Writer, all []Variable, inJSON bool) error {
	table := program.NewTable[Variable](w, inJSON)
	if !inJSON {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	for _, v := range all {
		if err := table.Add(v); err != nil {
			return err
		}
	}
	return table.Flush()
}
