package kernstash

// ranked is a program with the time of its last use, as it was when programs
// were compared: uses go on meanwhile.
type ranked[P, K any] struct {
	p    *Program[P, K]
	used int64
}

// leastUsed is a heap of programs, the one that was not used for longest on top.
type leastUsed[P, K any] []ranked[P, K]

func (h leastUsed[P, K]) Len() int           { return len(h) }
func (h leastUsed[P, K]) Less(i, j int) bool { return h[i].used < h[j].used }
func (h leastUsed[P, K]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *leastUsed[P, K]) Push(x any)        { *h = append(*h, x.(ranked[P, K])) }

func (h *leastUsed[P, K]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = ranked[P, K]{}
	*h = (*h)[:last]
	return x
}
