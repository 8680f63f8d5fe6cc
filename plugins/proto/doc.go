// Package proto is the control service of plugins, generated from method.proto.
//
// The file is the description: what each call and each field means stands there. A plugin
// in a language without shared memory is written against it alone (examples/plugin-python).
package proto

//go:generate ./generate.sh
