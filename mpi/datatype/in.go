package datatype

// In returns the type that t is in a file with a representation: made by the same constructors, of
// elements with the sizes of the representation (MPI-4.1, 14.5). Displacements in bytes stay as they
// are, so a type that has some fits only files that are made for them.
func (t *Type) In(r *Representation) (*Type, error) {
	if t == nil {
		return nil, errNil()
	}
	if r == External32 && !t.shape.converts {
		return t, nil
	}
	types := make([]*Type, len(t.made.Types))
	for i, of := range t.made.Types {
		var err error
		if types[i], err = of.In(r); err != nil {
			return nil, err
		}
	}
	if len(types) == 0 && t.made.Combiner != CombinerStruct {
		return r.leaf(t.shape.kind)
	}
	return t.made.construct(types)
}

// construct calls the constructor with other types.
func (m *Contents) construct(types []*Type) (*Type, error) {
	n := m.Ints
	switch m.Combiner {
	case CombinerContiguous:
		return Contiguous(n[0], types[0])
	case CombinerVector:
		return Vector(n[0], n[1], n[2], types[0])
	case CombinerHvector:
		return Hvector(n[0], n[1], m.Addrs[0], types[0])
	case CombinerIndexed:
		return Indexed(n[1:1+n[0]], n[1+n[0]:], types[0])
	case CombinerHindexed:
		return Hindexed(n[1:], m.Addrs, types[0])
	case CombinerIndexedBlock:
		return IndexedBlock(n[1], n[2:], types[0])
	case CombinerHindexedBlock:
		return HindexedBlock(n[1], m.Addrs, types[0])
	case CombinerStruct:
		return Struct(n[1:], m.Addrs, types)
	case CombinerSubarray:
		d := n[0]
		return Subarray(n[1:1+d], n[1+d:1+2*d], n[1+2*d:1+3*d], Order(n[1+3*d]), types[0])
	case CombinerDarray:
		d := n[2]
		n := n[3:]
		distribs := make([]Distribution, d)
		for i := range distribs {
			distribs[i] = Distribution(n[d+i])
		}
		return Darray(m.Ints[0], m.Ints[1], n[:d], distribs, n[2*d:3*d], n[3*d:4*d], Order(n[4*d]), types[0])
	case CombinerResized:
		return Resized(types[0], m.Addrs[0], m.Addrs[1])
	}
	return types[0], nil // a copy by Dup
}

// leaf returns the type of an element of a kind in the representation.
func (r *Representation) leaf(k Kind) (*Type, error) {
	var c sums
	value, index, isPair := k.Pair()
	if !isPair {
		s, err := r.scalar(k)
		if err != nil {
			return nil, err
		}
		return newType(s, &c, Contents{})
	}
	v, err := r.scalar(value)
	if err != nil {
		return nil, err
	}
	i, err := r.scalar(index)
	if err != nil {
		return nil, err
	}
	return newType(pairOf(&c, v, i), &c, Contents{})
}

// scalar is scalar in the representation. It is aligned as in memory, if its size allows that.
func (r *Representation) scalar(k Kind) (shape, error) {
	size, err := r.size(k)
	if err != nil {
		return shape{}, err
	}
	align := kinds[k].align
	for size%align != 0 {
		align /= 2
	}
	g := grain{units{elem: uint16(size), unit: 1}, KindByte}
	return shape{external: size}.leaf(size, align, g), nil
}
