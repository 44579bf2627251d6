package main

import (
	"crypto/sha256"
	"time"

	"github.com/kernstash/kernstash/key"
)

// keyRows compare the making of a key with the hash of the source alone.
func keyRows(*setting) ([]row, error) {
	code := make([]byte, 4096)
	for i := range code {
		code[i] = byte(i)
	}
	device := key.Device{API: "bench", Name: "none"}.Digest()
	const options = "-DN=4 -cl-fast-relaxed-math -cl-std=CL1.2"
	return []row{{
		name: "key of a 4 KiB source with options / its SHA-256",
		ours: func(n int) {
			for range n {
				img := must(key.NewImage(key.OpenCLC, code))
				o := key.NewOptions(options, "")
				_ = key.New(device, img.Digest(), key.Constants(nil).Digest(), o.Digest())
			}
		},
		theirs: func(n int) {
			for range n {
				_ = sha256.Sum256(code)
			}
		},
		bar: bar{factor: 2, extra: 2 * time.Microsecond},
	}}, nil
}
