//go:build !nogpu

package cli

// HasRuntimes reports whether this command can reach a GPU runtime at all.
const HasRuntimes = true
