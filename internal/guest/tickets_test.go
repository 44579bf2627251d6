package guest

import "testing"

func TestTickets(t *testing.T) {
	t.Parallel()
	type ticket struct{ id uint64 }
	var s Tickets[ticket]
	all := make([]ticket, maxTickets+1)
	for i := range maxTickets {
		if !s.Add(&all[i], &all[i].id) {
			t.Fatalf("ticket %d is one too many", i)
		}
	}
	last := &all[maxTickets]
	if s.Add(last, &last.id) {
		t.Error("there is no bound")
	}
	first := all[0].id
	if s.Find(first) != &all[0] || s.Find(first+maxTickets) != nil || len(s.All()) != maxTickets {
		t.Error("not found, or another one")
	}
	if !s.Remove(first) || s.Remove(first) {
		t.Error("a ticket is taken out never, or twice")
	}
	if s.Find(first) != nil || !s.Add(last, &last.id) || last.id <= all[maxTickets-1].id {
		t.Errorf("a number is used twice: %d", last.id)
	}
}
