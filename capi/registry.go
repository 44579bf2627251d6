//go:build linux

package main

import (
	levelzero "github.com/kernstash/kernstash/gpu/levelzero/layer"
	rtc "github.com/kernstash/kernstash/gpu/rtc/layer"
	"github.com/kernstash/kernstash/internal/front"
)

// registry has the runtimes that front ends in C ask about, by the names that they use.
var registry = [...]struct {
	runtime string
	open    func() (front.Adapter, error)
}{
	{"rtc", func() (front.Adapter, error) { return rtc.OpenFront(rtc.Options{Missed: collectRarely}) }},
	{"levelzero", func() (front.Adapter, error) { return levelzero.OpenFront(levelzero.Options{}) }},
}
