// Package interop has tests only. They run OrangeFS's own client programs and library on our servers, and on OrangeFS's servers
// for comparison. They need an installation of OrangeFS (docs/guides/orangefs.md), and are skipped without one. internal/pvfs/pvfstest starts the
// servers and tools.
package interop
