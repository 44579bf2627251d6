package compile

import "slices"

// PTXASOptions are the options of ptxas, with and without an argument.
var PTXASOptions = struct{ Valued, Flags [][]string }{
	slices.Collect(slices.Chunk(ptxasOptions.valued, 2)), slices.Collect(slices.Chunk(ptxasOptions.flags, 2)),
}
