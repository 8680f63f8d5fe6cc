package proto

import "encoding/base64"

// HintGives is the name of a hint of type HintUnknown. Clients of ours send it with CREATE; stock servers ignore it. It asks for a
// capability for the new file, among the attributes of the answer. Its text is empty.
const HintGives = "viaduct.give"

// GivesHint is that hint.
func GivesHint() Hint { return Hint{Name: HintGives} }

// Gives reports whether the hint is present.
func (h Hints) Gives() bool {
	_, ok := h.ours(HintGives)
	return ok
}

// HintShows is the name of a hint of type HintUnknown. Clients of ours send it with CRDIRENT and CHDIRENT; stock servers ignore it.
// Its text is a capability for the object of the name, beside that of the request, in base64. It saves the server a question to
// the object's server.
const HintShows = "viaduct.show"

// ShowsHint is that hint. There is none for a capability with too many handles.
func ShowsHint(c *Capability) (hint Hint, ok bool) {
	w := newWriter(nil)
	w.capability(c)
	text := base64.RawStdEncoding.EncodeToString(w.finish())
	return Hint{Name: HintShows, Text: text}, len(text) <= maxHintText
}

// Shows returns the capability of that hint.
func (h Hints) Shows() (c Capability, ok bool) {
	text, ok := h.ours(HintShows)
	if !ok {
		return c, false
	}
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return c, false
	}
	r := newReader(b)
	r.capability(&c)
	return c, r.finish() == nil
}
