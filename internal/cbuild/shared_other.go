//go:build !unix

package cbuild

func shared(string, string) error { return errAlone }

func sharedShim(string, string, string, string) error { return errAlone }
