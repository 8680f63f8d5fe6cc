// Package object sends and receives values of any Go type: strings, maps, structures with slices, and
// so on. A value travels as CBOR (RFC 8949), so it is received as what its exported fields say, and
// the two sides may have different types that fit each other. Package mpi's own calls are much
// faster and move numbers without encoding them: take these for what is small or rare, such as a
// program's settings.
//
//	settings := map[string]string{}
//	if w.Rank() == 0 {
//		settings["mesh"] = "fine"
//	}
//	err := object.Bcast(ctx, w, &settings, 0)
//
// Both sides of a message must use this package, and all processes of a collective operation must
// call the same function. If the value of one process cannot be encoded, or one cannot decode what it
// gets, the operation ends in all others as usual, or with an error that says whose value is missing.
// A context that ends has the effect that it has in package mpi.
//
// Encode and Decode are the same form for storing values.
package object
