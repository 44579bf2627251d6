package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/agent/client"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/node"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/internal/settings"
)

// checkAgent reports whether applications ask an agent of this node. Where none is looked for, or
// there is none at the places where it is by default, there is nothing to say.
func (r *Report) checkAgent(ctx context.Context, s *settings.Settings) {
	if len(s.AgentSockets()) == 0 {
		return
	}
	const advice = "applications go on without it; 'kernstash agent' is one"
	socket, st, err := node.Ask(ctx, s)
	subject := "agent " + socket
	switch {
	case errors.Is(err, client.ErrAbsent) && s.Agent == settings.AgentAuto:
	case errors.Is(err, client.ErrAbsent):
		r.Add(subject, tool.Warn, advice, "nobody serves there")
	case errors.Is(err, client.ErrUntrusted):
		r.Add(subject, tool.Warn, "name its user in the setting agent-uid, if that is meant; see docs/SECURITY.md", "it is not asked: %v", err)
	case errors.Is(err, client.ErrRefused):
		r.Add(subject, tool.Warn, "its configuration (/etc/kernstash/agent.json) says whom it serves", "it serves others: %v", err)
	case err != nil:
		r.Add(subject, tool.Warn, advice, "it does not answer: %v", err)
	default:
		var tenants []string
		for _, t := range st.Tenants {
			what := "read-only"
			if t.Write {
				what = "read and written"
			}
			tenants = append(tenants, fmt.Sprintf("%s (%s, %s)", t.Name, what, human.Plural(t.Entries, "entry")))
		}
		r.Add(subject, tool.OK, "", "serves tenant %s", strings.Join(tenants, ", "))
	}
}
