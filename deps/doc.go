// Package deps finds out what a build reads besides its device image, and
// whether that can be known.
//
// The scan is conservative: it follows no condition and trusts no macro, so it
// may report an include that the compiler skips, and never misses one that the
// compiler obeys. What it reports makes a program uncacheable; the price of
// doubt is a build, never a stale binary.
package deps
