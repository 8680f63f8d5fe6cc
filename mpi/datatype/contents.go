package datatype

//go:generate go tool stringer -type=Combiner -linecomment -output=combiner_string.go

// A Combiner says which constructor made a type (MPI-4.1, 5.1.13).
type Combiner uint8

// The combiners. A predefined type is named.
const (
	CombinerNamed         Combiner = iota // named
	CombinerDup                           // dup
	CombinerContiguous                    // contiguous
	CombinerVector                        // vector
	CombinerHvector                       // hvector
	CombinerIndexed                       // indexed
	CombinerHindexed                      // hindexed
	CombinerIndexedBlock                  // indexed block
	CombinerHindexedBlock                 // hindexed block
	CombinerStruct                        // struct
	CombinerSubarray                      // subarray
	CombinerDarray                        // darray
	CombinerResized                       // resized
	CombinerF90Real                       // f90 real
	CombinerF90Complex                    // f90 complex
	CombinerF90Integer                    // f90 integer
)

// Contents describes how a type was made: the arguments of its constructor, in the order in which
// MPI_Type_get_contents returns them (MPI-4.1, 5.1.13). The slices belong to the type and must not
// be changed.
type Contents struct {
	Combiner Combiner
	Ints     []int   // counts, block lengths, displacements in elements, orders, ...
	Addrs    []int   // strides and displacements in bytes, bounds
	Types    []*Type // the types from which it was made
}

// Contents returns how t was made (MPI_Type_get_envelope and MPI_Type_get_contents).
func (t *Type) Contents() Contents { return t.made }
