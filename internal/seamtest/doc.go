// Package seamtest is the common part of the suites of two seams, methods/tcp/stack/stacktest and
// methods/via/nic/udp/dgram/dgramtest: time limits, and tests of sleeping and waking. Tests of the
// data that moves through a seam are in its suite.
package seamtest
