package wire

// The layout of match bits, most significant first: the context (16 bits), the rank of the source,
// and the tag.
const (
	TagBits    = 28
	SourceBits = 20
	// TagMax is the largest tag, and SourceMax the largest rank.
	TagMax    = 1<<TagBits - 1
	SourceMax = 1<<SourceBits - 1
	// MaskTag and MaskSource are the bits that a receive of any tag, or from any source, ignores.
	MaskTag    uint64 = TagMax
	MaskSource uint64 = SourceMax << TagBits
)

// MakeBits joins the three. The upper bits of values above SourceMax or TagMax are lost.
func MakeBits(context uint16, source, tag uint32) uint64 {
	return uint64(context)<<(SourceBits+TagBits) | uint64(source&SourceMax)<<TagBits | uint64(tag&TagMax)
}

// ContextOf returns the context in match bits.
func ContextOf(bits uint64) uint16 { return uint16(bits >> (SourceBits + TagBits)) }

// SourceOf returns the source's rank in match bits.
func SourceOf(bits uint64) uint32 { return uint32(bits>>TagBits) & SourceMax }

// TagOf returns the tag in match bits.
func TagOf(bits uint64) uint32 { return uint32(bits) & TagMax }
