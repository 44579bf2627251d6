//go:build linux

package main

import (
	"sync"

	levelzero "github.com/kernstash/kernstash/gpu/levelzero/layer"
	opencl "github.com/kernstash/kernstash/gpu/opencl/layer"
	rtc "github.com/kernstash/kernstash/gpu/rtc/layer"
	"github.com/kernstash/kernstash/internal/front"
	"github.com/kernstash/kernstash/worker"
)

// registry has the runtimes that front ends in C ask about, by the names that they use.
var registry = [...]struct {
	runtime string
	open    func() (front.Adapter, error)
}{
	{"opencl", openWithWorker},
	{"rtc", func() (front.Adapter, error) { return rtc.OpenFront(rtc.Options{Missed: collectRarely}) }},
	{"levelzero", func() (front.Adapter, error) { return levelzero.OpenFront(levelzero.Options{}) }},
}

// openWithWorker opens the layer whose jobs a worker does.
func openWithWorker() (front.Adapter, error) {
	var l *opencl.Layer
	start := sync.OnceValue(func() *worker.Starter { return starter(l.Cache()) })
	l, err := opencl.Open(opencl.Options{Left: func() { start().Start() }})
	if err != nil {
		return nil, err
	}
	return opencl.NewAdapter(l), nil
}
