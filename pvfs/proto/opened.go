package proto

// HintOpens is the name of a hint of type HintUnknown. Clients of ours send it with GETATTR; stock servers ignore it. It asks for
// a capability for an open file, which stays valid when rights to the file are withdrawn. Sent with such a capability, it asks
// for the same one with the file's present datafiles. Its text is empty.
const HintOpens = "viaduct.open"

// OpensHint is that hint.
func OpensHint() Hint { return Hint{Name: HintOpens} }

// Opens reports whether the hint is present.
func (h Hints) Opens() bool {
	_, ok := h.ours(HintOpens)
	return ok
}

// ours is the text of the hint with a name of ours.
func (h Hints) ours(name string) (text string, ok bool) {
	for i := range h {
		if h[i].Type == HintUnknown && h[i].Name == name {
			return h[i].Text, true
		}
	}
	return "", false
}
