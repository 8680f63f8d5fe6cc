package proto

// HintOpens is the name of a hint of type HintUnknown that clients of ours send with GETATTR, and that other servers do not look at. It asks for a
// capability for a file that is open, which stays good when rights to the file are withdrawn; with such a one, for the same with the
// datafiles that the file has by now. Its text is empty.
const HintOpens = "viaduct.open"

// OpensHint is that hint.
func OpensHint() Hint { return Hint{Name: HintOpens} }

// Opens reports whether that hint is there.
func (h Hints) Opens() bool {
	_, ok := h.ours(HintOpens)
	return ok
}

// ours is the text of the hint of ours with a name.
func (h Hints) ours(name string) (text string, ok bool) {
	for i := range h {
		if h[i].Type == HintUnknown && h[i].Name == name {
			return h[i].Text, true
		}
	}
	return "", false
}
