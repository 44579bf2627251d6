package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// note keeps what the cache and its worker say of themselves.
func (s stage) note(ctx context.Context) {
	for name, args := range map[string][]string{
		"worker-status": {"worker", "status"}, "entries": {"ls"}, "totals": {"stat", "-v"}, "verified": {"verify"},
	} {
		out, err := s.command(ctx, args...).CombinedOutput()
		if err != nil {
			out = fmt.Appendf(out, "%v\n", err)
		}
		_ = os.WriteFile(filepath.Join(s.notes, name), out, 0o600)
	}
}

// missed says, of each program that the first start in a wiped home compiled, what its report gives as
// the reason, and what the cache has under its key and what the worker says of it.
func (s stage) missed() ([]string, error) {
	var report struct {
		Requests []struct{ Key, Label, Outcome, Reason, Nearest string }
	}
	b, err := os.ReadFile(filepath.Join(s.notes, "wiped-1.json"))
	if err == nil {
		err = json.Unmarshal(b, &report)
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range report.Requests {
		if r.Outcome != "compiled" {
			continue
		}
		text := fmt.Sprintf("%s (%.60s): %s, %s", r.Key, r.Label, r.Reason, r.Nearest)
		spooled, _ := filepath.Glob(filepath.Join(s.root(), ".meta/spool/*", r.Key+"*"))
		for _, path := range spooled {
			content, _ := os.ReadFile(path)
			text += fmt.Sprintf("\n  in the spool: %s, %.200q", filepath.Base(path), content)
		}
		if len(spooled) == 0 {
			text += "\n  nothing of it is in the spool"
		}
		all = append(all, text)
	}
	status, err := os.ReadFile(filepath.Join(s.notes, "worker-status"))
	return append(all, string(status)), err
}
