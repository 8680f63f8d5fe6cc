// Package interop has no code but tests: OrangeFS's own client programs and library on our servers,
// and the same on OrangeFS's servers, to compare. They need an installation of OrangeFS
// (docs/orangefs.md), and skip without one. What starts servers and tools is in pvfs/pvfstest.
package interop
