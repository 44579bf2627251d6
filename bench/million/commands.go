package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/kernstash/kernstash/store"
	"github.com/kernstash/kernstash/store/disk"
)

const memoryBar = 64 << 10 // KiB

// measured is what a process took.
type measured struct {
	first, all time.Duration // to its first line of output, to its end
	peak       int           // KiB of memory at most
	out        string        // its last line
}

// commandOf returns a command without settings of the user's, and without limits.
func commandOf(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME=/nonexistent", "KERNSTASH_MAX_SIZE=0", "KERNSTASH_THRESHOLD=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// measure runs a process. Its peak is asked for while it runs: what the system
// tells afterwards includes what its parent held at the fork.
func measure(name string, args ...string) (m measured, err error) {
	cmd := commandOf(name, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return m, err
	}
	stop, peak := make(chan struct{}), make(chan int)
	go func() {
		most := 0
		for {
			most = max(most, highWater(cmd.Process.Pid))
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m.first == 0 {
			m.first = time.Since(start)
		}
		m.out = lines.Text()
	}
	close(stop)
	m.peak = <-peak
	err = cmd.Wait()
	m.all = time.Since(start)
	return m, err
}

// highWater is the most memory that a process had so far, in KiB.
func highWater(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if kib, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(kib)[0])
			return n
		}
	}
	return 0
}

// commands measures what people run.
func commands(t *table, root, _, command string, n int) error {
	for _, c := range []struct {
		args  string
		first time.Duration // bar; 0: none
		all   time.Duration
	}{
		{"stat", 0, 50 * time.Millisecond},
		{"ls", 50 * time.Millisecond, 0},
		{"ls --sort saved", 200 * time.Millisecond, 0},
		{"ls --app app07", 200 * time.Millisecond, 0},
		{"ls --sort size", 0, 0}, // which makes the catalog
		{"ls --sort size", 200 * time.Millisecond, 0},
		{"ls --sort cost", 200 * time.Millisecond, 0},
		{"ls --sort used", 200 * time.Millisecond, 0},
		{"ls --sort age", 200 * time.Millisecond, 0},
		{"gc", 0, 0},
	} {
		m, err := measure(command, append([]string{"--dir", root}, strings.Fields(c.args)...)...)
		if err != nil {
			return fmt.Errorf("%s: %w", c.args, err)
		}
		if c.first > 0 {
			t.line(c.args+": first row", short(m.first), "≤ "+short(c.first), m.first <= c.first)
		}
		bar := ""
		if c.all > 0 {
			bar = "≤ " + short(c.all)
		}
		rate := ""
		if m.all > time.Second {
			rate = fmt.Sprintf(", %.0f entries a second", float64(n)/m.all.Seconds())
		}
		t.line(c.args, short(m.all)+rate, bar, c.all == 0 || m.all <= c.all)
		t.memory(c.args, m.peak)
	}
	return nil
}

func (t *table) memory(what string, peak int) {
	t.line(what+": memory", fmt.Sprintf("%d MiB", peak>>10), fmt.Sprintf("≤ %d MiB", memoryBar>>10), peak <= memoryBar)
}

// eviction lets a process of its own put until some entries had to go.
func eviction(t *table, root, _, _ string, n int) error {
	s := disk.New(disk.Options{Dir: root})
	before := s.Status()
	limit := before.Bytes
	s.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	m, err := measure(self, "-root", root, "-evict", strconv.FormatInt(limit, 10))
	if err != nil {
		return fmt.Errorf("evict: %w", err)
	}
	s = disk.New(disk.Options{Dir: root})
	evicted := before.Entries - s.Status().Entries
	s.Close()
	t.line("eviction: the second put after", short(m.first), "", true)
	took := m.all - 2*time.Second // which it waits to be sure
	t.line(fmt.Sprintf("eviction of %d entries", evicted), fmt.Sprintf("%s, %.0f a second", short(took), float64(evicted)/took.Seconds()), "", true)
	t.memory("eviction", m.peak)
	return nil
}

// evictChild puts until one is dropped or an evictor has begun, says when a put is
// taken again, and waits until the evictor has ended.
func evictChild(root string, limit int64) error {
	s := disk.New(disk.Options{Dir: root, MaxSize: limit, Policy: disk.Cost})
	defer s.Close()
	last, since := limit, time.Now()
	puts := 0
	for i := 3_000_000_500; ; time.Sleep(10 * time.Millisecond) {
		if puts < 2 {
			i++
			e, err := entry(i)
			if err != nil {
				return err
			}
			switch _, err = s.Put(context.Background(), e); {
			case errors.Is(err, store.ErrDropped):
			case err != nil:
				return err
			default:
				if puts++; puts == 2 {
					fmt.Println("puts go on")
				}
			}
		}
		now := s.Status().Bytes
		if now != last {
			last, since = now, time.Now()
		}
		if now <= limit/16*15 && time.Since(since) > 2*time.Second {
			return nil
		}
	}
}
