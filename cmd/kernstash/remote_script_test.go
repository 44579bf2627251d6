package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kernstash/kernstash/agent"
	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/internal/servers"
	"github.com/kernstash/kernstash/stats"
)

// TestRemoteScripts runs those of testdata/remote, each with a database of a real Redis of its own, REDIS.
func TestRemoteScripts(t *testing.T) {
	t.Parallel()
	servers.Redis(t) // or it is skipped
	params := scriptParams(filepath.Join("testdata", "remote"))
	packaging, err := filepath.Abs("../../packaging")
	if err != nil {
		t.Fatal(err)
	}
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("REDIS", servers.Redis(t))
		env.Setenv("PACKAGING", packaging)
		return setup(env)
	}
	testscript.Run(t, params)
}

// TestAgentOfManifest reads the agent's configuration in packaging/kubernetes as the agent does.
func TestAgentOfManifest(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../packaging/kubernetes/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(b), "agent.json: |\n")
	config, _, _ = strings.Cut(config, "\n---")
	c, err := agent.ParseConfig(strings.NewReader(config))
	if err != nil {
		t.Fatalf("%v in\n%s", err, config)
	}
	c.Dir, c.Socket = "/var/cache/kernstash-agent", "/run/kernstash/agent.sock" // as the flags say
	if o, err := c.Options(0); err != nil || len(o.Tenants) != 2 || !o.Tenants[0].Write || o.Tenants[1].Write || !o.Tenants[1].Anyone {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestAgentOfDocument reads the agent's configuration that docs/COMMAND.md shows.
func TestAgentOfDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/COMMAND.md")
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(b), "agent.json`, listens")
	_, config, _ = strings.Cut(config, "```json\n")
	config, _, _ = strings.Cut(config, "```\n")
	c, err := agent.ParseConfig(strings.NewReader(config))
	if err != nil {
		t.Fatalf("%v in\n%s", err, config)
	}
	if len(c.Tenants) != 2 || c.Tenants[0].Name != "training" || !c.Tenants[0].Write || c.Tenants[1].Name != "everybody" || c.Tenants[1].Write {
		t.Errorf("%+v", c)
	}
}

// TestFleetDocument looks at docs/FLEET.md: its commands and their flags exist, as do the counters
// that it names and the files that it leads to.
func TestFleetDocument(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/FLEET.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(b)
	commands := regexp.MustCompile(`(?m)^\$ (?:KERNSTASH_\w+=\S+ )*kernstash ([^|#\n]*)`).FindAllStringSubmatch(document, -1)
	if len(commands) < 10 {
		t.Errorf("%d commands", len(commands))
	}
	for _, c := range commands {
		root := rootCommand(&cli.App{})
		cmd, rest, err := root.Find(strings.Fields(c[1]))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd == root {
			t.Errorf("kernstash %s: %v", c[1], err)
		}
	}
	_, metrics, _ := strings.Cut(document, "**Metrics.**")
	metrics, _, _ = strings.Cut(metrics, "For node_exporter")
	names := regexp.MustCompile("`([a-z]+[.][a-z.-]+)`").FindAllStringSubmatch(metrics, -1)
	if len(names) < 10 {
		t.Errorf("%d counters", len(names))
	}
	for _, n := range names {
		known := false
		for c := range (stats.Snapshot{}) {
			known = known || stats.Counter(c).String() == n[1]
		}
		if !known {
			t.Errorf("no counter is called %s", n[1])
		}
	}
	for _, link := range regexp.MustCompile(`\]\((\.\./[^)#]+)`).FindAllStringSubmatch(document, -1) {
		if _, err := os.Stat(filepath.Join("../../docs", link[1])); err != nil {
			t.Error(err)
		}
	}
}
