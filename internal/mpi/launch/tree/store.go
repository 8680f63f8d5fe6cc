package tree

import "github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"

// A store keeps pairs in the order in which they came.
type store struct {
	list  []wire.Pair
	index map[string]int
	bytes int // ≤ storeBytesMax
}

// add keeps pairs with new keys. full is true if there was no room for a pair.
func (s *store) add(pairs []wire.Pair) (full bool) {
	for _, p := range pairs {
		if _, there := s.index[p.Key]; there {
			continue
		}
		if s.bytes+size(p) > storeBytesMax {
			return true
		}
		if s.index == nil {
			s.index = map[string]int{}
		}
		s.index[p.Key] = len(s.list)
		s.list = append(s.list, p)
		s.bytes += size(p)
	}
	return false
}

// page returns a pair and those that came after it, about pageBytes of them; nil if there is none.
func (s *store) page(key string) []wire.Pair {
	first, ok := s.index[key]
	if !ok {
		return nil
	}
	end := first
	for bytes := 0; end < len(s.list) && bytes < pageBytes; end++ {
		bytes += size(s.list[end])
	}
	return s.list[first:end]
}

// size is about how many bytes a pair takes in a frame.
func size(p wire.Pair) int { return len(p.Key) + len(p.Value) + 4 }
