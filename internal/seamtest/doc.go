// Package seamtest is the common part of the suites of two seams, internal/tcp/stack/stacktest and
// internal/nic/udp/dgram/dgramtest: time limits, and tests of sleeping and waking. Tests of the
// data that moves through a seam are in its suite.
package seamtest
