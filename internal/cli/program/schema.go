package program

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// schemaAnnotation is the annotation of a command with the keys of its rows in JSON.
const schemaAnnotation = "json"

// JSONFlag adds --json to a command that prints rows, which are values of the types of the examples. docs/reference/json.md and a golden
// file list their keys.
func JSONFlag(cmd *cobra.Command, p *bool, examples ...any) {
	cmd.Flags().BoolVar(p, "json", false, "print one JSON object a line, see docs/reference/json.md")
	var rows []string
	for _, example := range examples {
		rows = append(rows, strings.Join(schemaOf(reflect.TypeOf(example)), "\n"))
	}
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[schemaAnnotation] = strings.Join(rows, "\n\n")
}

// A Key is a key of a row in JSON.
type Key struct {
	Name, Kind string
	Optional   bool
}

// Schema returns the keys of each kind of row that a command prints with --json.
func Schema(cmd *cobra.Command) (rows [][]Key) {
	text := cmd.Annotations[schemaAnnotation]
	if text == "" {
		return nil
	}
	for row := range strings.SplitSeq(text, "\n\n") {
		var keys []Key
		for line := range strings.SplitSeq(row, "\n") {
			part := strings.Split(line, "\t")
			keys = append(keys, Key{Name: part[0], Kind: part[1], Optional: part[2] != ""})
		}
		rows = append(rows, keys)
	}
	return rows
}

// schemaOf returns a line for each key: its name, what its value is, and whether it may be missing.
func schemaOf(t reflect.Type) (lines []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		optional := ""
		if strings.Contains(options, "omitempty") || viaPointer(t, f.Index) {
			optional = "optional"
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s", name, kindOf(f.Type), optional))
	}
	return lines
}

// viaPointer tells whether a field is one of an embedded pointer, which may be nil.
func viaPointer(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// kindOf names the type of a key's value.
func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time (RFC 3339)"
	case reflect.TypeFor[Bytes](), reflect.TypeFor[ExactBytes]():
		return "bytes"
	case reflect.TypeFor[Percent]():
		return "per cent"
	case reflect.TypeFor[Micros]():
		return "microseconds"
	case reflect.TypeFor[Seconds]():
		return "seconds"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "list of " + kindOf(t.Elem())
	case reflect.Map:
		return "object"
	case reflect.Struct:
		var keys []string
		for _, line := range schemaOf(t) {
			part := strings.Split(line, "\t")
			keys = append(keys, part[0]+": "+part[1])
		}
		return "object (" + strings.Join(keys, ", ") + ")"
	case reflect.Interface:
		return "number, text, or list of numbers"
	}
	if !isNumber(t) {
		panic("program: no kind for " + t.String())
	}
	return "number"
}
