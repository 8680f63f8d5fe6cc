package fstest

// pageBytes is the page size of a model's file. Pages that were never written do not exist.
const pageBytes = 4096

// sparse holds the bytes of a file.
type sparse struct {
	size  int64
	pages map[int64]*[pageBytes]byte
}

// readAt copies bytes below the end of the file to b, and returns their number.
func (s *sparse) readAt(b []byte, off int64) int {
	if off >= s.size {
		return 0
	}
	b = b[:min(int64(len(b)), s.size-off)]
	for done := 0; done < len(b); {
		at := off + int64(done)
		part := b[done:min(len(b), done+pageBytes-int(at%pageBytes))]
		if page := s.pages[at/pageBytes]; page != nil {
			copy(part, page[at%pageBytes:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(b)
}

func (s *sparse) writeAt(b []byte, off int64) {
	if s.pages == nil {
		s.pages = make(map[int64]*[pageBytes]byte)
	}
	for done := 0; done < len(b); {
		at := off + int64(done)
		page := s.pages[at/pageBytes]
		if page == nil {
			page = new([pageBytes]byte)
			s.pages[at/pageBytes] = page
		}
		done += copy(page[at%pageBytes:], b[done:])
	}
	s.size = max(s.size, off+int64(len(b)))
}

// truncate sets the size. Bytes beyond it are lost for good.
func (s *sparse) truncate(size int64) {
	if size < s.size {
		for i, page := range s.pages {
			switch {
			case i*pageBytes >= size:
				delete(s.pages, i)
			case (i+1)*pageBytes > size:
				clear(page[size-i*pageBytes:])
			}
		}
	}
	s.size = size
}
