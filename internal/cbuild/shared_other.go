//go:build !unix

package cbuild

func shared(string, string) error { return errAlone }

func forAll(string) (string, error) { return "", errAlone }

func locked(string, string) (func(), error) { return nil, errAlone }

func sharedShim(string, string, string, string) error { return errAlone }
