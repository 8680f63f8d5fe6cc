// Package manner checks that all commands of this project have one manner: its tests walk over the commands of bmi, pvfs, pvfsd,
// mpiexec and mpibench, and over the command lines in the documents. docs/reference/json.md is made of what they find. The tests of the
// programs use CheckJSON; no shipped code imports this package.
package manner
