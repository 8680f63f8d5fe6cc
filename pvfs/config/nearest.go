package config

import "strings"

// nearest is the name most similar to a misspelt one, or empty if none is similar. Case does not matter.
func nearest(misspelt string, names []string) string {
	best, found := min(3, 1+len(misspelt)/5)+1, ""
	for _, name := range names {
		if len(name)-len(misspelt) >= best || len(misspelt)-len(name) >= best {
			continue
		}
		if d := distance(strings.ToLower(misspelt), strings.ToLower(name)); d < best {
			best, found = d, name
		}
	}
	return found
}

// distance is the number of letters to insert, remove, replace, or swap with a neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			differ := 1
			if a[i] == b[j] {
				differ = 0
			}
			row[j+1] = min(last[j]+differ, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
