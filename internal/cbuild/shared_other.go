//go:build !unix

package cbuild

func shared(string, string) error { return errAlone }
