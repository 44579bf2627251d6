package entries

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/stats"
	"github.com/kernstash/kernstash/store/disk"
)

// What remotes did has a section of its own, for people and in JSON, where there are any.
func TestRemotesAreShown(t *testing.T) {
	t.Parallel()
	show := func(s stats.Snapshot) (text, rest string, remotes *remotesReport) {
		var out bytes.Buffer
		writeStat(&cli.App{Out: &out}, disk.Status{Dir: "/cache"}, s, disk.Older{})
		b, err := json.Marshal(reportStat(disk.Status{}, s, disk.Older{}))
		if err != nil {
			t.Fatal(err)
		}
		var report struct{ Remotes *remotesReport }
		if err := json.Unmarshal(b, &report); err != nil {
			t.Fatal(err)
		}
		_, text, _ = strings.Cut(out.String(), "\nremotes\n")
		return text, string(b), report.Remotes
	}
	var s stats.Snapshot
	s[stats.DiskHits] = 3
	if text, rest, remotes := show(s); text != "" || remotes != nil || strings.Contains(rest, "remote") {
		t.Errorf("without remotes: %q, %s", text, rest)
	}
	s[stats.RemoteHits], s[stats.RemoteMisses] = 3, 1
	s[stats.RemoteSavedTime] = int64(90 * time.Second)
	s[stats.RemoteBytesRead] = 2 << 20
	s[stats.RemoteBreaks], s[stats.LeasesWaited] = 2, 4
	text, _, remotes := show(s)
	want := `         3  entries that they had
         1  requests that none of them answered
  1 min 30 s  saved by them
  2.00 MiB  read
         2  times that a remote was given up for a while
         4  builds that waited for another machine
`
	if d := cmp.Diff(want, text); d != "" {
		t.Errorf("section (-want +got):\n%s", d)
	}
	if d := cmp.Diff(&remotesReport{HitRate: 0.75, SavedMS: 90_000, BytesRead: 2 << 20}, remotes); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
}
