package entries

import (
	"testing"
	"time"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	h100 := store.Info{
		Device: key.Device{API: "opencl", Platform: "NVIDIA CUDA", Name: "NVIDIA H100 80GB HBM3", Version: "OpenCL 3.0", Driver: "580.65.06"},
		Size:   4096, Accessed: now.Add(-48 * time.Hour), Kernels: []string{"_Z5scaleIfEvPT_", "other"},
	}
	nvrtc := store.Info{Device: key.Device{API: "nvrtc", Platform: "NVRTC", Name: "NVRTC", Version: "13.0"}, Size: 10, Accessed: now}
	damaged := store.Info{Bad: store.ErrNotFound}
	for _, test := range []struct {
		name                 string
		f                    Filter
		h100, nvrtc, damaged bool
	}{
		{"all", Filter{}, true, true, true},
		{"part of a device", Filter{Device: "h100"}, true, false, false},
		{"all of a device", Filter{Device: "h100*"}, false, false, false},
		{"platform and device", Filter{Device: "nvidia cuda/*h100*"}, true, false, false},
		{"compiler", Filter{Device: "NVRTC 13.*"}, false, true, false},
		{"version", Filter{Device: "13.0"}, false, true, false},
		{"driver", Filter{Driver: "580.*"}, true, false, false},
		{"dot", Filter{Driver: "580?65?06"}, true, false, false},
		{"part of a driver", Filter{Driver: "65.06"}, true, false, false},
		{"another driver", Filter{Driver: "58065"}, false, false, false},
		{"api", Filter{API: "nvrtc"}, false, true, false},
		{"part of an api", Filter{API: "nvr"}, false, false, false},
		{"apis", Filter{API: "*c*"}, true, true, false},
		{"kernel as the source has it", Filter{Kernel: "scale<float>"}, true, false, false},
		{"kernel as it is linked", Filter{Kernel: "_Z5scale*"}, true, false, false},
		{"expression is none", Filter{Kernel: "o.her"}, false, false, false},
		{"older", Filter{Older: 47 * time.Hour}, true, false, true},
		{"not older", Filter{Older: 48 * time.Hour}, false, false, true},
		{"larger", Filter{Larger: 4095}, true, false, false},
		{"not larger", Filter{Larger: 4096}, false, false, false},
		{"both", Filter{API: "opencl", Larger: 4096}, false, false, false},
		{"unknown application", Filter{App: "*"}, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := test.f.matcher(nil, now)
			if got := m.match(h100); got != test.h100 {
				t.Errorf("H100: %v", got)
			}
			if got := m.match(nvrtc); got != test.nvrtc {
				t.Errorf("NVRTC: %v", got)
			}
			if got := m.match(damaged); got != test.damaged {
				t.Errorf("damaged: %v", got)
			}
		})
	}
}

func TestTreeKeepsWhatSavedMost(t *testing.T) {
	t.Parallel()
	var b branch
	for i := range 3 * maxLeaves {
		b.keep(EntryReport{Size: 1, SavedMS: float64(i * 7 % (3 * maxLeaves))}) // 7 divides not 60: each number once
	}
	if len(b.First) != maxLeaves || b.First[0].SavedMS != 59 || b.First[maxLeaves-1].SavedMS != 40 {
		t.Errorf("%d, %v", len(b.First), b.First)
	}
}
