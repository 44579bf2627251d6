//go:build race

package deps

const raceEnabled = true
