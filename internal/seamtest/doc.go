// Package seamtest is what the suites of two seams have in common, methods/tcp/stack/stacktest and
// methods/via/nic/udp/dgram/dgramtest: how long anything may take, and how what polls sleeps and is
// woken. What moves through a seam is its suite's own.
package seamtest
