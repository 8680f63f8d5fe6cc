// Package rights decides who may do what in a file system. It is pure: it knows no network, no store and no clock, and
// is told everything that a decision depends on. Package server asks it before it carries out a request.
//
// The rules are those of POSIX where stock clients allow them: docs/reference/security-pvfs.md.
package rights
