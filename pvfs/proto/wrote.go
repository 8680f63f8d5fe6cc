package proto

// HintWrote is the name of a hint of type HintUnknown. Servers of ours send it to a file's server, with a SETATTR that changes nothing,
// before somebody writes to the file whose mode sets an ID: the mode then sets none any more. Stock servers ignore it. Its text is
// empty.
const HintWrote = "viaduct.wrote"

// WroteHint is that hint.
func WroteHint() Hint { return Hint{Name: HintWrote} }

// Wrote reports whether the hint is present.
func (h Hints) Wrote() bool {
	_, ok := h.ours(HintWrote)
	return ok
}
