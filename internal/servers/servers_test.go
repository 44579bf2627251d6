package servers

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kernstash/kernstash/internal/needs"
)

// TestNoServerOutlives starts a server in another process, which is killed.
func TestNoServerOutlives(t *testing.T) {
	needs.Tool(t, "redis-server", "redis-server")
	if os.Getenv("SERVERS_TEST_CHILD") != "" {
		s := StartRedis(t)
		os.Stdout.WriteString(s.Socket + "\n")
		select {}
	}
	child := exec.Command(os.Args[0], "-test.run=^TestNoServerOutlives$")
	child.Env = append(os.Environ(), "SERVERS_TEST_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 200)
	n, err := out.Read(b)
	if err != nil || n < 2 {
		t.Fatal(err)
	}
	socket := string(b[:n-1])
	if reply, err := redisDo(socket, "PING"); err != nil || strings.Join(reply, ",") != "+PONG" {
		t.Fatalf("the server answers %q, %v", reply, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("unix", socket)
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server still runs")
		}
	}
}

func TestRedisDatabasesDiffer(t *testing.T) {
	if a, b := Redis(t), Redis(t); a == b {
		t.Errorf("two databases are %s", a)
	}
}
