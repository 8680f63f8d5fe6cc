package rooms

func middle(s string) string {
	r := room[int]{}
	if len(r.name) > limit {
		return r.whole()
	}
	return s
}
