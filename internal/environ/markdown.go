package environ

import (
	"fmt"
	"strings"
)

// Markdown is the text of docs/reference/environment.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Environment variables

This page is made from the table in internal/environ: ` + "`go test ./internal/environ -update`" + ` writes it. ` + "`bmi env`" + ` prints the
same table with the values that the variables have now; values of secrets are not shown. Our commands report a variable whose
name begins with VIADUCT_ and that is not in this table, with the name that was probably meant.

Options and tuning of methods and of MPI that a program may set itself are in [mpi-variables.md](mpi-variables.md).
`)
	for _, part := range []struct {
		kind  Kind
		title string
	}{
		{Setting, "For users"},
		{Launcher, "Set by launchers"},
		{Internal, "Between processes of this project"},
		{Test, "For tests"},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| variable | read by | what it does | if it is not set |\n| --- | --- | --- | --- |\n", part.title)
		for _, v := range table {
			if v.Kind != part.kind {
				continue
			}
			text := v.Text
			if v.Secret {
				text += " (secret)"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, v.Reader, strings.ReplaceAll(text, "|", `\|`), strings.ReplaceAll(v.Default, "|", `\|`))
		}
	}
	return b.String()
}
