package proto

import (
	"strconv"
	"strings"
)

// HintMetafiles is the name of a hint of type HintUnknown that servers of ours send with the TREE_REMOVE of datafiles, and that other
// servers do not look at. Its text is the handle of each datafile's metafile, in their order, in hexadecimal with spaces
// between: a datafile that is another metafile's stays. 0 is for what is no datafile, or not known.
const HintMetafiles = "viaduct.of"

// MetafilesMax is how many the hint has at most, so that its text is not too long.
const MetafilesMax = maxHintText / (16 + 1)

// MetafilesHint is that hint.
func MetafilesHint(metafiles []Handle) Hint {
	text := make([]string, len(metafiles))
	for i, h := range metafiles {
		text[i] = strconv.FormatUint(uint64(h), 16)
	}
	return Hint{Name: HintMetafiles, Text: strings.Join(text, " ")}
}

// Metafiles returns the metafiles of that hint; nil if there is none, or one that cannot be read.
func (h Hints) Metafiles() []Handle {
	text, ok := h.ours(HintMetafiles)
	if !ok {
		return nil
	}
	var all []Handle
	for one := range strings.SplitSeq(text, " ") {
		n, err := strconv.ParseUint(one, 16, 64)
		if err != nil {
			return nil
		}
		all = append(all, Handle(n))
	}
	return all
}
