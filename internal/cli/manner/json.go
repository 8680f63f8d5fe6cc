package manner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// CheckJSON checks what a command printed with --json: each line is an object with the keys of one of the rows that the command
// has declared, and numbers are numbers. There must be a line.
func CheckJSON(root *cobra.Command, path, output string) error {
	cmd, _, err := root.Find(strings.Fields(path))
	if err != nil {
		return err
	}
	rows := program.Schema(cmd)
	if len(rows) == 0 {
		return fmt.Errorf("%s declares no rows", cmd.CommandPath())
	}
	n := 0
	for line := range strings.Lines(output) {
		n++
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			return fmt.Errorf("%s prints %q: %w", cmd.CommandPath(), line, err)
		}
		var why error
		if !slices.ContainsFunc(rows, func(keys []program.Key) bool { why = fits(object, keys); return why == nil }) {
			return fmt.Errorf("%s prints %q: %w", cmd.CommandPath(), line, why)
		}
	}
	if n == 0 {
		return fmt.Errorf("%s prints nothing", cmd.CommandPath())
	}
	return nil
}

// fits compares an object with the keys of a row.
func fits(object map[string]any, keys []program.Key) error {
	for name := range object {
		if !slices.ContainsFunc(keys, func(k program.Key) bool { return k.Name == name }) {
			return fmt.Errorf("the key %q is not declared", name)
		}
	}
	for _, k := range keys {
		value, there := object[k.Name]
		switch {
		case !there && !k.Optional:
			return fmt.Errorf("the key %q is missing", k.Name)
		case !there:
			continue
		}
		if _, isNumber := value.(float64); isNumber != numeric(k.Kind) && k.Kind != anyKind && value != nil {
			return fmt.Errorf("the value of %q is %v, want: %s", k.Name, value, k.Kind)
		}
	}
	return nil
}

// anyKind is the kind of a value that may be a number.
const anyKind = "number, text, or list of numbers"

func numeric(kind string) bool {
	return slices.Contains([]string{"number", "bytes", "per cent", "microseconds", "seconds"}, kind)
}
