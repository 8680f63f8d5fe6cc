package wire

// The layout of match bits, most significant first: the context, of 16 bits, the rank of
// the source in it, and the tag.
const (
	TagBits    = 28
	SourceBits = 20
	// TagMax is the largest tag, and SourceMax the largest rank.
	TagMax    = 1<<TagBits - 1
	SourceMax = 1<<SourceBits - 1
	// MaskTag and MaskSource are the bits that a receive of any tag, or from any source,
	// does not look at.
	MaskTag    uint64 = TagMax
	MaskSource uint64 = SourceMax << TagBits
)

// MakeBits joins the three. What is larger than SourceMax or TagMax loses its upper bits.
func MakeBits(context uint16, source, tag uint32) uint64 {
	return uint64(context)<<(SourceBits+TagBits) | uint64(source&SourceMax)<<TagBits | uint64(tag&TagMax)
}

// ContextOf is the context in match bits.
func ContextOf(bits uint64) uint16 { return uint16(bits >> (SourceBits + TagBits)) }

// SourceOf is the source's rank in match bits.
func SourceOf(bits uint64) uint32 { return uint32(bits>>TagBits) & SourceMax }

// TagOf is the tag in match bits.
func TagOf(bits uint64) uint32 { return uint32(bits) & TagMax }
