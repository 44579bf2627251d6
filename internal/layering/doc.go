// Package layering holds the test that enforces the floors of the house: each
// package imports only what is below it.
package layering
