package proto

import (
	"strconv"
	"strings"
)

// HintMetafiles is the name of a hint of type HintUnknown. Servers of ours send it with the TREE_REMOVE of datafiles; stock
// servers ignore it. Its text has the handle of each datafile's metafile, in their order, in hexadecimal and separated by spaces.
// A datafile that belongs to another metafile is kept. 0 stands for an object that is not a datafile, or an unknown metafile.
const HintMetafiles = "viaduct.of"

// MetafilesMax is the largest number of handles in the hint, so that its text is not too long.
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
