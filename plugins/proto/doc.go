// Package proto is the control service of plugins, generated from method.proto.
//
// method.proto describes each call and each field. It is all that a plugin in a language without
// shared memory needs (examples/plugin-python).
package proto

//go:generate ./generate.sh
