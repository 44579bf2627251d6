package servers

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kernstash/kernstash/internal/needs"
)

// An NginxServer is an nginx of one test, which ends it.
type NginxServer struct {
	Addr string // 127.0.0.1:port
	Dir  string // what relative paths of its configuration are relative to
}

// Nginx starts nginx with a configuration file, in which PORT stands for a port, and whose paths are
// relative. files are further files, by their names. Its error log is "error.log".
func Nginx(t testing.TB, conf string, files map[string]string) *NginxServer {
	t.Helper()
	// Debian's is not on every user's path.
	program := "/usr/sbin/nginx"
	if _, err := os.Stat(program); err != nil {
		program = needs.Tool(t, "nginx", "nginx-light")
	}
	p, err := start(nginxReady, func(dir string, free int) ([]string, error) {
		all := map[string]string{"nginx.conf": strings.ReplaceAll(conf, port, fmt.Sprint(free))}
		for name, content := range files {
			all[name] = content
		}
		for name, content := range all {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{"objects", "incoming"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				return nil, err
			}
		}
		// One process, which is the one that is killed, and works as who started it.
		with := "daemon off; master_process off; pid nginx.pid;"
		return []string{program, "-p", dir, "-e", "error.log", "-c", "nginx.conf", "-g", with}, nil
	})
	must(t, p, err)
	t.Cleanup(p.stop)
	return &NginxServer{Addr: fmt.Sprintf("127.0.0.1:%d", p.port), Dir: p.dir}
}

// nginxReady: nginx writes the file after it has got its port.
func nginxReady(p *process) bool {
	if b, err := os.ReadFile(filepath.Join(p.dir, "nginx.pid")); err != nil || len(b) == 0 {
		return false
	}
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
	if err != nil {
		return false
	}
	c.Close()
	return true
}
