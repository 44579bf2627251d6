//go:build nogpu

package main

// hasRuntimes says whether this command can reach a GPU runtime at all.
const hasRuntimes = false
