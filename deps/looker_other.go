//go:build !linux

package deps

func newWalker() looker { return plainLooker{osSystem} }
