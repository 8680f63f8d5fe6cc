package view

import (
	"slices"
	"strconv"
	"strings"
)

// rangesBytesMax limits the text of a list of ranks.
const rangesBytesMax = 200

// ranges writes ranks briefly: 0,2-5. A long text ends with the number of ranks that it leaves out.
func ranges(ranks []int) string {
	all := slices.Clone(ranks)
	slices.Sort(all)
	all = slices.Compact(all)
	var b strings.Builder
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if b.Len() > rangesBytesMax {
			return b.String() + "… and " + strconv.Itoa(len(all)-i) + " more"
		}
		b.WriteString(strconv.Itoa(all[i]))
		switch {
		case j == i+1:
			b.WriteString("," + strconv.Itoa(all[j]))
		case j > i:
			b.WriteString("-" + strconv.Itoa(all[j]))
		}
		i = j + 1
	}
	return b.String()
}
