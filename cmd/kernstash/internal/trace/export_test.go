//go:build linux && (amd64 || arm64)

package trace

var Tidy = tidy
