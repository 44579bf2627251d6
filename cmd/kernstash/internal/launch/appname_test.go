package launch

import (
	"strings"
	"testing"
)

func TestAppName(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"hashcat -b":                              "hashcat",
		"/usr/bin/darktable":                      "darktable",
		"./train.py --epochs 3":                   "train.py",
		"python3 train.py":                        "train.py",
		"/usr/bin/python3.11 -u /srv/train.py -m": "train.py",
		"python -m torch.distributed.run a.py":    "torch.distributed.run",
		"python3 -mtimeit x":                      "timeit",
		"python3 -W ignore -X dev x/run.py":       "run.py",
		"python3 -c pass":                         "python3",
		"python3 -m":                              "python3",
		"python3":                                 "python3",
		"python3 -":                               "python3",
		"pypy3 a.py":                              "a.py",
		"sh -e -o pipefail job.sh":                "job.sh",
		"sh -c true":                              "sh",
		"bash -o pipefail /srv/job.sh":            "job.sh",
		"bash -- job.sh x":                        "job.sh",
		"shfmt x":                                 "shfmt",
		"pythonic x":                              "pythonic",
		"node --inspect server.js":                "server.js",
		"perl -I lib a.pl":                        "a.pl",
	} {
		if got := appName(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
