package program

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// ReportUnknown says which variables of an environment, as os.Environ returns it, are probably misspelt.
func ReportUnknown(w io.Writer, command string, environment []string) {
	for _, name := range environ.Unknown(environment) {
		fmt.Fprintf(w, "%s: the environment variable %s has no effect: there is none of this name%s\n", command, name, didYouMean(Near(name, environ.Names())))
	}
}

// A variable is a row of the command env.
type variable struct {
	Name    string  `json:"name" table:"NAME"`
	Value   *string `json:"value" table:"VALUE"` // null: not set
	Secret  bool    `json:"secret"`
	Default string  `json:"default" table:"DEFAULT"`
	Reader  string  `json:"read_by" table:"READ BY"`
	Kind    string  `json:"kind"`
	Text    string  `json:"text" table:"MEANING"`
}

// hidden stands for a value that must not be shown.
const hidden = "(secret)"

// EnvCommand prints the environment variables of all programs of this project, with their present values.
func EnvCommand(out io.Writer) *cobra.Command {
	var inJSON, all bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Show the environment variables that programs read, and their values",
		Long: `Env lists the environment variables that the commands, the methods and MPI programs read, with the
values that they have here; those of secrets are not shown. docs/reference/environment.md has the same list.`,
		Example: `  bmi env
  bmi env --json --all`,
		Args: Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error { return printEnv(out, inJSON, all) },
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also variables that programs and launchers set for each other, and those of tests")
	JSONFlag(cmd, &inJSON, variable{})
	return cmd
}

func printEnv(out io.Writer, inJSON, all bool) error {
	t := NewTable[variable](out, inJSON)
	for _, v := range environ.Table() {
		if v.Kind != environ.Setting && !all {
			continue
		}
		row := variable{Name: v.Name, Secret: v.Secret, Default: v.Default, Reader: v.Reader, Kind: v.Kind.String(), Text: v.Text}
		if value, set := environ.LookupEnv(v.Name); set {
			if v.Secret {
				value = hidden
			}
			row.Value = &value
		}
		if err := t.Add(row); err != nil {
			return err
		}
	}
	return t.Flush()
}
