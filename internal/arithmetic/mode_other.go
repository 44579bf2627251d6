//go:build !amd64 && !arm64

package arithmetic

func isDefault() bool { return true }
