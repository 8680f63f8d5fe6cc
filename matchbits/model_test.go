package matchbits

import "slices"

// model is the obvious implementation of the engine: two slices, walked in order.
// It is the oracle for the random tests.
type model struct {
	significant  Bits
	nextID       int
	posted, kept []modelEntry
}

type modelEntry struct {
	id           int // names the entry for removal; never used again
	bits, ignore Bits
	item         int
}

func (m *model) equal(a, b, ignore Bits) bool { return (a^b)&m.significant&^ignore == 0 }

func (m *model) post(bits, ignore Bits, item int) int {
	m.nextID++
	m.posted = append(m.posted, modelEntry{m.nextID, bits, ignore, item})
	return m.nextID
}

func (m *model) keep(bits Bits, item int) int {
	m.nextID++
	m.kept = append(m.kept, modelEntry{m.nextID, bits, 0, item})
	return m.nextID
}

// removeFirst takes out the first entry that fits.
func removeFirst(entries *[]modelEntry, fits func(modelEntry) bool) (int, bool) {
	i := slices.IndexFunc(*entries, fits)
	if i < 0 {
		return 0, false
	}
	item := (*entries)[i].item
	*entries = slices.Delete(*entries, i, i+1)
	return item, true
}

func (m *model) arrive(bits Bits) (int, bool) {
	return removeFirst(&m.posted, func(p modelEntry) bool { return m.equal(p.bits, bits, p.ignore) })
}

func (m *model) take(bits, ignore Bits) (int, bool) {
	return removeFirst(&m.kept, func(k modelEntry) bool { return m.equal(k.bits, bits, ignore) })
}

func (m *model) peek(bits, ignore Bits) (int, bool) {
	i := slices.IndexFunc(m.kept, func(k modelEntry) bool { return m.equal(k.bits, bits, ignore) })
	if i < 0 {
		return 0, false
	}
	return m.kept[i].item, true
}

func (m *model) removePosted(id int) (int, bool) {
	return removeFirst(&m.posted, func(p modelEntry) bool { return p.id == id })
}

func (m *model) removeKept(id int) (int, bool) {
	return removeFirst(&m.kept, func(k modelEntry) bool { return k.id == id })
}
