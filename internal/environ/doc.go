// Package environ has the one table of the environment variables that this project reads: what each does, its default and
// who reads it (table.go). All code reads its own variables through Getenv and LookupEnv; a rule of internal/tidy finds code
// that does not, and variables that are not in the table.
//
// docs/reference/environment.md is made of the table, and `bmi env` prints it with the present values. A new variable needs a row here.
package environ
