package datatype

import "sort"

// ElementsIn returns how many basic elements are in packedBytes bytes of elements of t, and whether
// the last one is complete (MPI_Get_elements, MPI-4.1, 5.1.11). A pair counts as two elements, a
// value and an index, unlike in Elements.
func (t *Type) ElementsIn(packedBytes int) (n int, whole bool) {
	root := t.shape.wire.n
	if root == nil || packedBytes <= 0 {
		return 0, packedBytes == 0
	}
	n, whole = root.elementsIn(packedBytes % root.size)
	return n + packedBytes/root.size*root.elems, whole
}

// elementsIn returns the number of basic elements in the first bytes of n; bytes < n.size.
func (n *node) elementsIn(bytes int) (elems int, whole bool) {
	switch n.form {
	case loop:
		elems, whole = n.body.elementsIn(bytes % n.body.size)
		return elems + bytes/n.body.size*n.body.elems, whole
	case list:
		i := sort.SearchInts(n.ends, bytes+1)
		for _, p := range n.parts[:i] {
			elems += p.n.elems
			bytes -= p.n.size
		}
		in, whole := n.parts[i].n.elementsIn(bytes)
		return elems + in, whole
	default:
		size := int(n.grain.elem)
		return bytes / size, bytes%size == 0
	}
}
