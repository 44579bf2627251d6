// Package kernstash builds GPU programs once: every later thread, process,
// restart and machine starts warm.
package kernstash
