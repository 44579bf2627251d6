//go:build race

package kernstash

const raceEnabled = true
