package deps

import "sync"

// room is where the contents and texts of many header files are put, one behind the
// other. A library's are megabytes: memory that comes page by page, as it is touched,
// takes longer to come than they take to be read.
type room struct {
	mu    sync.Mutex
	taken int // bytes, since the room was left
	free  []byte
}

const (
	roomPiece  = 256 << 10 // what comes at once
	roomBehind = 128 << 10 // so much comes as it is touched: most units read less
	roomMost   = 64 << 10  // what is larger comes by itself
)

// rooms is of all units: what they read stays for as long, see memory.
var rooms room

// take returns n bytes that are zero, of which nobody else knows.
func (r *room) take(n int) []byte {
	b, large := r.piece(n)
	if large {
		populate(b)
	}
	return b
}

func (r *room) piece(n int) (b []byte, large bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken += n; r.taken <= roomBehind {
		return make([]byte, n), false
	}
	if n > roomMost {
		return make([]byte, n), true
	}
	if n > len(r.free) {
		r.free = make([]byte, roomPiece)
		populate(r.free)
	}
	b, r.free = r.free[:n:n], r.free[n:]
	return b, false
}

// leave gives back what nobody has taken.
func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken, r.free = 0, nil
}
