package compile

import "slices"

// PTXASOptions are the options of ptxas, with and without an argument.
var PTXASOptions = struct{ Valued, Flags [][]string }{
	slices.Collect(slices.Chunk(ptxasOptions.valued, 2)), slices.Collect(slices.Chunk(ptxasOptions.flags, 2)),
}

// ReadNVCC returns why a command line of nvcc is passed through, nil for one that is served.
func ReadNVCC(getenv func(string) string, args ...string) error {
	_, err := readNVCC(args, getenv)
	return err
}

// NVCCOptions are the options of nvcc, with and without an argument.
var NVCCOptions = struct{ Valued, Flags [][]string }{
	slices.Collect(slices.Chunk(nvccOptions.valued, 2)), slices.Collect(slices.Chunk(nvccOptions.flags, 2)),
}

// Plain returns an environment as a traced compiler gets it.
func Plain(environ []string) []string { return plain(environ) }
